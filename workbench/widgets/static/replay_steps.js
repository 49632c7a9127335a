// The steps of a recording, as records out of the columns, and the list that they are chosen from.
import { h, number } from "./dom.js";

const AROUND = 20; // steps of one rule that are listed before and after the current one

// Steps count from 1; 0 is the start.
export class Steps {
  constructor(facts, columns) {
    Object.assign(this, { facts, columns, length: columns.rule.length });
    this.runs = [];
    for (let i = 1; i <= this.length; i++) {
      const last = this.runs[this.runs.length - 1];
      if (last && last.rule === columns.rule[i - 1]) last.end = i;
      else this.runs.push({ rule: columns.rule[i - 1], first: i, end: i });
    }
    for (const run of this.runs) Object.assign(run, this.sum(run));
  }

  sum({ first, end }) {
    const { from, split, key, seconds } = this.columns;
    const sum = { removed: 0, added: 0, rewired: 0, seconds: 0 };
    for (let i = first; i <= end; i++) {
      const [start, middle, stop] = [from[i - 1], from[i - 1] + split[i - 1], from[i]];
      const before = new Set(key.subarray(start, middle));
      sum.removed += middle - start;
      sum.added += stop - middle;
      for (let k = middle; k < stop; k++) sum.rewired += Number(before.has(key[k]));
      sum.seconds += seconds[i - 1];
    }
    return sum;
  }

  ruleOf(i) {
    const [stage, rule, file, line] = this.facts.rules[this.columns.rule[i - 1]];
    return { stage, rule, file, line };
  }

  // {rule, stage, file, line, anchor, scope, seconds, removed, added}
  get(i) {
    const { columns } = this;
    const [start, end, split] = [columns.from[i - 1], columns.from[i], columns.split[i - 1]];
    const step = { index: i, ...this.ruleOf(i), seconds: columns.seconds[i - 1] };
    step.anchor = columns.anchor.get(i - 1);
    step.scope = columns.scope.get(i - 1);
    step.removed = this.nodes(start, start + split);
    step.added = this.nodes(start + split, end);
    const keys = new Set(step.added.map((node) => node.key));
    step.rewired = new Set(step.removed.map((node) => node.key).filter((key) => keys.has(key)));
    return step;
  }

  nodes(start, end) {
    const { columns, facts } = this;
    const listed = (text) => (text ? text.split("\x1f") : []);
    return Array.from({ length: end - start }, (_, k) => {
      const i = start + k;
      return {
        key: columns.key[i], name: columns.name.get(i), op: facts.ops[columns.op[i]], scope: columns.node_scope.get(i),
        inputs: listed(columns.inputs.get(i)), outputs: listed(columns.outputs.get(i)),
        attributes: listed(columns.attributes.get(i)),
      };
    });
  }

  // The numbers of the steps of one rule; of all of them, with the start, for no rule.
  of(rule) {
    const all = Array.from({ length: this.length + 1 }, (_, i) => i);
    return rule ? all.filter((i) => i > 0 && this.ruleOf(i).rule === rule) : all;
  }
}

export function milliseconds(seconds) {
  const ms = seconds * 1000;
  return ms >= 100 ? `${number(Math.round(ms))} ms` : ms >= 1 ? `${ms.toFixed(1)} ms` : `${Math.round(ms * 1000)} µs`;
}

export function change(removed, added, rewired = 0) {
  const parts = [removed > rewired ? `−${number(removed - rewired)}` : "", added > rewired ? `+${number(added - rewired)}` : ""];
  if (rewired) parts.push(`~${number(rewired)}`);
  return parts.filter(Boolean).join(" ") || "no change";
}

// Runs grouped by stage; the run of the current step shows its steps, a window of them where there are many.
export function stepList(steps, current, rule, go) {
  const list = h("div", { class: "wb-steps" });
  if (!rule) list.append(stepButton("the graph as it was given", current === 0, () => go(0)));
  let stage = "";
  for (const run of steps.runs) {
    const of = steps.ruleOf(run.first);
    if (rule && of.rule !== rule) continue;
    if (of.stage !== stage) list.append(h("h3", {}, (stage = of.stage)));
    list.append(runOf(steps, run, of, current, go));
  }
  return list;
}

function runOf(steps, run, of, current, go) {
  const inside = current >= run.first && current <= run.end;
  const many = run.end > run.first;
  const text = `${of.rule}${many ? ` × ${number(run.end - run.first + 1)}` : ""}`;
  const head = stepButton(text, inside, () => go(run.first), `${change(run.removed, run.added, run.rewired)} · ${milliseconds(run.seconds)}`);
  if (!many || !inside) return head;
  const [low, high] = [Math.max(run.first, current - AROUND), Math.min(run.end, current + AROUND)];
  const rows = h("div", { class: "wb-run" });
  if (low > run.first) rows.append(stepButton(`… ${number(low - run.first)} before`, false, () => go(low - 1)));
  for (let i = low; i <= high; i++) {
    const where = steps.columns.scope.get(i - 1) || steps.columns.anchor.get(i - 1);
    rows.append(stepButton(`${i} ${where}`, i === current, () => go(i)));
  }
  if (high < run.end) rows.append(stepButton(`… ${number(run.end - high)} more`, false, () => go(high + 1)));
  return h("div", {}, head, rows);
}

function stepButton(text, current, act, more = "") {
  const attributes = { class: "wb-step", type: "button", onclick: act, title: text };
  if (current) attributes["aria-current"] = "step";
  return h("button", attributes, h("span", { class: "wb-step-text" }, text), more ? h("span", { class: "wb-quiet" }, more) : null);
}
