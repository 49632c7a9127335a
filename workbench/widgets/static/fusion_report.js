// Rules by provider: candidates, applied, missed by kind; a row opens its misses, a miss its nearest miss.
import { h, listeners, number, OWN_KEYS, plural, status, tell } from "./dom.js";
import { nearMiss, notPlanned } from "./near_miss.js";

const COLUMNS = ["execution provider", "rule", "candidates", "applied", "fact", "precondition", "unmatched", "partial"];
const KINDS = ["fact", "precondition", "unmatched", "partial"];
const MEANS = {
  fact: "the kernel cannot carry it", precondition: "the graph computes something else",
  unmatched: "its form was not recognised", partial: "rewritten, and something was left outside",
};

function render({ model, el }) {
  const facts = model.get("_facts");
  const life = listeners(model);
  const said = status();
  const state = { sort: -1, down: true, open: new Set(), fold: -1 };
  const provider = choice("Execution provider", "all", facts.execution_providers, model.get("execution_provider"));
  const kind = choice("Kind of miss", "any kind", KINDS, model.get("kind"));
  const idle = h("input", { type: "checkbox", checked: !facts.lines.some((line) => line[2]) });
  const body = h("tbody");
  const heads = COLUMNS.map((text, i) => h("th", { scope: "col", class: i > 1 ? "wb-number" : null },
    h("button", { type: "button", class: "wb-sort", title: MEANS[text], onclick: () => sortBy(i) }, text)));
  const table = h("table", { "aria-label": "Rules by execution provider" }, h("thead", {}, h("tr", {}, heads)), body);
  const rest = h("div");

  const keyOf = (line) => JSON.stringify(line.slice(0, 2));
  const foldsOf = (line) => facts.folds.filter((fold) =>
    fold.execution_provider === line[0] && fold.rule === line[1] && (!kind.value || fold.kind === kind.value));
  const sortBy = (i) => {
    state.down = state.sort === i ? !state.down : i > 1;
    state.sort = i;
    show();
  };
  const lines = () => {
    const kept = facts.lines.filter((line) => 
      (!provider.value || line[0] === provider.value) && (kind.value ? foldsOf(line).length : idle.checked || line[2]));
    if (state.sort < 0) return kept;
    const compare = (a, b) => (typeof a === "number" ? a - b : a < b ? -1 : Number(a > b));
    return kept.sort((a, b) => compare(a[state.sort], b[state.sort]) * (state.down ? -1 : 1));
  };
  const toggle = (line) => {
    const key = keyOf(line);
    if (!state.open.delete(key)) state.open.add(key);
    show();
  };
  const inGraph = (fold, index) => {
    for (const [name, value] of [["execution_provider", fold.execution_provider], ["rule", fold.rule],
      ["scope", fold.scopes[index]], ["node", fold.nodes[index]]]) model.set(name, value);
    model.save_changes();
    said.textContent = `Chosen: ${fold.nodes[index]} of ${fold.execution_provider}`;
  };

  const rowOf = (line, at) => {
    const folds = foldsOf(line);
    const open = folds.length > 0 && state.open.has(keyOf(line));
    const name = folds.length
      ? h("button", { type: "button", class: "wb-open", "aria-expanded": String(open), "data-focus": `row ${keyOf(line)}`, onclick: () => toggle(line) },
          h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), line[1])
      : line[1];
    const numbers = line.slice(2).map((n, i) => h("td", { class: `wb-number${n ? (i > 1 ? " wb-missed" : "") : " wb-zero"}` }, number(n)));
    const row = h("tr", {}, h("td", {}, line[0]), h("th", { scope: "row" }, name), numbers);
    if (!open) return [row];
    return [row, h("tr", { class: "wb-inner" }, h("td", { colspan: COLUMNS.length }, folds.map((fold) => missOf(fold))))];
  };
  const missOf = (fold) => {
    const index = facts.folds.indexOf(fold);
    const open = state.fold === index;
    const button = h("button", {
      type: "button", class: "wb-miss", "aria-expanded": String(open), "data-focus": `fold ${index}`,
      onclick: () => { state.fold = open ? -1 : index; show(); },
    }, h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), h("strong", {}, fold.where), ` ${fold.kind}: ${fold.reason}`);
    return h("div", {}, button, open ? nearMiss(fold, model, (i) => inGraph(fold, i)) : null);
  };

  const show = () => {
    const focused = document.activeElement?.closest?.("[data-focus]")?.dataset.focus;
    const shown = lines();
    body.replaceChildren(...shown.flatMap(rowOf));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== state.sort ? "none" : state.down ? "descending" : "ascending"));
    rest.replaceChildren(...[empty(facts, provider.value), notPlanned(facts.skipped, provider.value)].filter(Boolean));
    table.hidden = !shown.length;
    said.textContent = summary(shown, kind.value, provider.value);
    const again = focused && [...body.querySelectorAll("[data-focus]")].find((one) => one.dataset.focus === focused);
    if (again) again.focus({ preventScroll: true });
  };
  const opened = (rule) => facts.lines.filter((line) => line[1] === rule).forEach((line) => state.open.add(keyOf(line)));

  life.add(provider, "change", () => { tell(model, "execution_provider", provider.value); show(); });
  life.add(kind, "change", () => { tell(model, "kind", kind.value); show(); });
  life.add(idle, "change", show);
  life.on("kind", () => { kind.value = model.get("kind"); show(); });
  life.on("rule", () => { opened(model.get("rule")); show(); });
  if (model.get("rule")) opened(model.get("rule"));
  show();
  el.append(h("div", { class: "wb-view wb-fusions", role: "group", "aria-label": "Fusions and misses" },
    h("div", { class: "wb-bar" }, h("label", {}, "Execution provider ", provider), h("label", {}, "Kind of miss ", kind),
      h("label", { class: "wb-check" }, idle, " rules without candidates")),
    said, h("div", { class: "wb-scroll wb-table" }, table), rest));
  return () => life.close();
}

function choice(label, all, names, value) {
  const select = h("select", { "aria-label": label, ...OWN_KEYS }, h("option", { value: "" }, all), names.map((name) => h("option", { value: name }, name)));
  select.value = names.includes(value) ? value : "";
  return select;
}

// Providers for which there is nothing to show, each with the reason.
function empty(facts, name) {
  if (!facts.execution_providers.length) return h("p", {}, "No execution provider is compared.");
  const idle = facts.execution_providers.filter((ep) => (!name || ep === name) && !(facts.planned[ep] || []).length);
  return idle.length ? h("ul", {}, idle.map((ep) => h("li", {}, `${ep}: no rule is planned, its graph is the generic one`))) : null;
}

function summary(shown, kind, provider) {
  const [applied, candidates] = [3, 2].map((i) => shown.reduce((sum, line) => sum + line[i], 0));
  const missed = shown.reduce((sum, line) => sum + (kind ? line[COLUMNS.indexOf(kind)] : line[4] + line[5] + line[6]), 0);
  const partial = shown.reduce((sum, line) => sum + line[7], 0);
  const whom = provider ? ` for ${provider}` : "";
  if (!shown.length) return kind ? `No miss of the kind ${kind}${whom}.` : `No rule${whom} has a candidate.`;
  const done = `${plural(shown.length, "rule")}, ${number(applied)} of ${number(candidates)} candidates rewritten`;
  if (!missed) return `${done}: no misses${partial ? `, ${number(partial)} partial` : ""}.`;
  return `${done}, ${number(missed)} ${kind || "missed"}${!kind && partial ? `, ${number(partial)} partial` : ""}. Open a rule to see why.`;
}

export default { render };
