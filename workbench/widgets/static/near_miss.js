// The nearest miss: the pattern's lines beside the graph's, the reason, and the few nodes around.
import { breakable, h, number, OWN_KEYS, plural, shorten, tell } from "./dom.js";
import { smallGraph } from "./small_graph.js";

const STATES = { ok: ["=", "agrees"], optional: ["·", "absent, as it may be"], mismatch: ["≠", "differs"], unreached: ["?", "not reached"] };

// fold: a record of FusionReport's facts; show(index) tells the other views about the fold's node of that number.
export function nearMiss(fold, model, show) {
  const { near } = fold;
  const choice = whichNode(fold);
  const parts = [
    h("h3", {}, `Nearest miss: ${fold.rule} at ${shorten(fold.nodes[0], 90)}`),
    h("p", {}, h("strong", {}, `${fold.kind}: `), fold.reason),
    h("p", {}, near.verdict),
  ];
  if (near.at) parts.push(h("p", { class: "wb-quiet" }, "The reason speaks of ", h("code", {}, near.at)));
  if (near.moment === "the final graph") parts.push(h("p", { class: "wb-quiet" }, "Shown on the final graph, in which later steps show as well."));
  if (near.pairs.length) parts.push(h("div", { class: "wb-scroll", tabindex: 0, role: "group", "aria-label": "Pattern and graph" }, pairTable(near.pairs)));
  if (near.nodes.length) parts.push(around(fold, model));
  const bar = h("div", { class: "wb-bar" }, choice.element,
    h("button", { type: "button", onclick: () => show(choice.index()) }, "Show in graph"));
  return h("div", { class: "wb-near", role: "group", "aria-label": `Nearest miss of ${fold.rule}` }, parts, bar);
}

function whichNode(fold) {
  if (fold.nodes.length === 1) return { element: null, index: () => 0 };
  const options = fold.nodes.map((node, i) => h("option", { value: i }, shorten(fold.scopes[i] || node, 70)));
  const select = h("select", { "aria-label": "Which of them", ...OWN_KEYS }, options);
  return { element: h("label", {}, `One of ${number(fold.nodes.length)} `, select), index: () => Number(select.value) };
}

function pairTable(pairs) {
  const rows = pairs.map(([state, pattern, graph, sentence]) => {
    const [sign, said] = STATES[state];
    return h("tr", { class: `wb-pair-${state}` },
      h("td", { class: "wb-sign" }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "wb-hidden" }, said)),
      h("td", {}, h("code", {}, breakable(pattern))), h("td", {}, h("code", { title: graph }, breakable(shorten(graph, 260)))), h("td", {}, breakable(sentence)));
  });
  const head = ["", "pattern", "graph", "what differs"].map((text) =>
    h("th", { scope: "col" }, text || h("span", { class: "wb-hidden" }, "state")));
  return h("table", { class: "wb-pairs" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

function around({ near, rule }, model) {
  const nodes = near.nodes.map(([name, op, , mark]) => ({ name, op, mark }));
  const label = `${plural(nodes.length, "node")} around the anchor of ${rule}: ◆ the anchor, = agrees, ≠ differs`;
  const pick = (node) => {
    tell(model, "scope", near.nodes.find(([name]) => name === node.name)[2]);
    tell(model, "node", node.name);
  };
  return h("div", {}, h("p", { class: "wb-quiet" }, label), smallGraph(nodes, near.edges, { label, pick, chosen: "" }));
}

// Rules that were not planned: for them nothing was missed, and this says why they did nothing.
export function notPlanned(skipped, name) {
  const rows = Object.entries(skipped).filter(([ep]) => !name || ep === name)
    .flatMap(([ep, pairs]) => pairs.map(([rule, why]) => h("tr", {}, h("td", {}, ep), h("td", {}, rule), h("td", {}, why))));
  if (!rows.length) return null;
  const head = ["execution provider", "rule", "why it is not planned"].map((text) => h("th", { scope: "col" }, text));
  return h("details", {}, h("summary", {}, `${plural(rows.length, "rule")} not planned, and why`),
    h("div", { class: "wb-scroll", tabindex: 0, role: "group", "aria-label": "Rules that were not planned" },
      h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))));
}
