// A recorded run: where it stands, forward and back, on to the next stop, and the values of the moment.
import { h, number, OWN_KEYS, plural, shorten, tell } from "./dom.js";
import { wraps } from "./workflow_rows.js";

const MOST_VALUES_SHOWN = 400;

export function runBar({ model, facts, columns, life, moved }) {
  if (!facts.moments && !facts.live) {
    return { element: null, node: () => -1, parts: () => [], sentence: () => "", said: () => "", stopAt() {}, move() {}, valueStop: () => null };
  }
  const last = () => facts.moments - 1;
  const at = () => Math.max(Math.min(model.get("moment"), last()), 0);
  const stops = () => new Set(model.get("breakpoints"));
  const busy = () => model.get("busy");
  // Beyond the last moment a run that is not at its end is asked to go on. While it does nothing else is asked of it.
  const go = (index, what = "step") => !busy() && (index > last() && facts.live ? model.send({ do: what }) : tell(model, "moment", Math.max(Math.min(index, last()), 0)));
  const valuesOf = (index) => Array.from({ length: columns.moment_from[index + 1] - columns.moment_from[index] }, (_, i) => columns.moment_from[index] + i);
  const nodeOf = (index) => facts.nodes[columns.moment_node[index]];

  const stopsAt = (index, wanted) => wanted.has(nodeOf(index)?.path) || valuesOf(index).some((i) => columns.moment_made[i] && wanted.has(`value:${columns.moment_name.get(i)}`));
  function toStop() {
    const wanted = stops();
    let index = at() + 1;
    while (index <= last() && !stopsAt(index, wanted)) index++;
    go(index, "on");
  }
  function toggle(what) {
    const now = stops();
    now.has(what) ? now.delete(what) : now.add(what);
    tell(model, "breakpoints", [...now]);
  }

  const button = (text, act, label) => h("button", { type: "button", onclick: act, "aria-label": label, title: label }, text);
  const back = button("◀ Back", () => go(at() - 1), "Back one step");
  const next = button("Next ▶", () => go(at() + 1), "Next step");
  const on = button("Run to stop ▶▶", toStop, "Run on to the next breakpoint, or to the end");
  const cancel = button("Cancel", () => busy() && model.send({ do: "cancel" }), "Stop after the step that is running");
  cancel.hidden = !facts.live;
  const start = button("|◀ Start", () => go(0), "Back to the start");
  const slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "Moment of the run", class: "wb-slider", ...OWN_KEYS });
  const stop = h("button", { type: "button", "aria-pressed": "false", onclick: () => toggle(model.get("node") || nodeOf(at())?.path || "") }, "Stop here");
  life.add(slider, "input", () => { go(Number(slider.value)); slider.value = at(); });

  function show() {
    slider.max = Math.max(last(), 0);
    slider.value = at();
    slider.setAttribute("aria-valuetext", sentence());
    back.disabled = start.disabled = at() === 0;
    next.disabled = on.disabled = at() === last() && !facts.live;
    // Said, and not made so: what has the focus keeps it.
    for (const each of [back, start, next, on, slider]) each.setAttribute("aria-disabled", String(busy()));
    cancel.setAttribute("aria-disabled", String(!busy()));
    const wanted = model.get("node") || nodeOf(at())?.path;
    const there = stops().has(wanted);
    stop.setAttribute("aria-pressed", String(there));
    stop.textContent = shorten(`${there ? "Do not stop" : "Stop"} at ${facts.nodes.find((node) => node.path === wanted)?.title || "a step"}`, 44);
    stop.disabled = !wanted;
  }
  function sentence() {
    if (!facts.moments) return "The run has not begun.";
    const note = columns.moment_note.get(at());
    return `Moment ${number(at() + 1)} of ${number(facts.moments)}${facts.live ? " so far" : ""}: ${nodeOf(at())?.title || "the workflow"}${note ? `, ${note}` : ""}`;
  }

  // The values of the moment: those that were read, then those that were made.
  function parts() {
    if (!facts.moments) return [];
    const wrong = columns.moment_fault.get(at());
    const found = valuesOf(at());
    const sides = [["Read at this moment", 0], ["Made at this moment", 1]].map(([title, made]) => {
      const rows = found.filter((i) => columns.moment_made[i] === made);
      return rows.length ? momentTable(columns, title, rows, valueStop) : null;
    });
    return [h("div", { class: "wb-moment" }, h("h3", {}, sentence()), wrong ? wrong.split("\n").map((text) => h("p", { class: "wb-flow-finding wb-error" }, wraps(text))) : null, ...sides.filter(Boolean), found.length ? null : h("p", { class: "wb-quiet" }, "No value is read or made here."))];
  }
  function valueStop(name) {
    const set = stops().has(`value:${name}`);
    return h("button", { type: "button", class: "wb-value-stop", "aria-pressed": String(set), "aria-label": `Stop when ${name} is made`, title: `Stop when ${name} is made`,
      onclick: (event) => { toggle(`value:${name}`); const on = stops().has(`value:${name}`); event.currentTarget.setAttribute("aria-pressed", String(on)); event.currentTarget.textContent = on ? "■" : "□"; } }, set ? "■" : "□");
  }

  for (const trait of ["moment", "_facts"]) life.on(trait, () => { show(); moved(columns.moment_node[at()] ?? 0); });
  for (const trait of ["breakpoints", "node", "busy"]) life.on(trait, show);
  show();
  return {
    element: h("div", { class: "wb-bar wb-run-bar", role: "toolbar", "aria-label": `A run of ${plural(facts.moments, "moment")}` }, start, back, next, on, cancel, slider, stop),
    node: () => columns.moment_node[at()] ?? -1, parts, sentence, said: () => [model.get("run_said"), sentence()].filter(Boolean).join(" "), stopAt: toggle, move: (by) => go(at() + by), valueStop,
  };
}

const portLine = (columns, i) => {
  const port = columns.moment_port.get(i);
  return port && port !== columns.moment_name.get(i) ? h("div", { class: "wb-quiet" }, wraps(port)) : null;
};

// Values of one kind whose names differ in their numbers alone are one line until it is opened.
function alikeValues(columns, rows) {
  const alike = new Map();
  for (const i of rows) {
    const key = `${columns.moment_name.get(i)} ${columns.moment_port.get(i)}`.replace(/\d+/g, "*") + columns.moment_type.get(i);
    alike.set(key, [...(alike.get(key) || []), i]);
  }
  return [...alike.values()].flatMap((found) => (found.length > 2 ? [found] : found.map((i) => [i])));
}

export function momentTable(columns, title, rows, valueStop) {
  const line = (i) => h("tr", {}, h("td", {}, wraps(columns.moment_name.get(i)), valueStop(columns.moment_name.get(i)), portLine(columns, i)),
    h("td", {}, h("div", { class: "wb-code" }, columns.moment_numbers.get(i)), h("div", { class: "wb-quiet" }, columns.moment_type.get(i))));
  const several = (found) => {
    const name = columns.moment_name.get(found[0]).replace(/\d+/g, "*");
    const row = h("tr", {}, h("td", {}, h("button", { type: "button", class: "wb-unfold", onclick: () => row.replaceWith(...found.slice(0, MOST_VALUES_SHOWN).map(line)) },
      `▸ ${name} ×${number(found.length)}`)), h("td", {}, h("div", { class: "wb-quiet" }, columns.moment_type.get(found[0]))));
    return row;
  };
  const body = h("tbody", {}, alikeValues(columns, rows).slice(0, MOST_VALUES_SHOWN).map((found) => (found.length > 1 ? several(found) : line(found[0]))));
  const head = h("tr", {}, ["value", "numbers and type"].map((word) => h("th", { scope: "col" }, word)));
  return h("div", { class: "wb-scroll" }, h("table", { class: "wb-flow-values" }, h("caption", {}, title), h("thead", {}, head), body));
}
