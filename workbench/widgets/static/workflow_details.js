// What is behind a step or a lane: its values with their contracts, its findings, the cells and their ports by layer.
import { h, number, plural } from "./dom.js";
import { KIND_SIGNS, markText, wraps } from "./workflow_rows.js";

const TITLES = { inputs: ["", "Values that come from outside"], loop: ["State starts from", ""], while: ["Tests", "Makes"],
  carry: ["The next value of each cell", ""], branch: ["Chooses by", ""], join: ["What each case gives", "Makes"], emit: ["Emits", ""] };
const MOST_ROWS = 400;

export function nodeDetails(context, node) {
  const { facts } = context;
  const [reads, makes] = TITLES[node.kind] || ["Reads", "Makes"];
  return [
    h("h3", { class: "wb-flow-what" }, h("span", { "aria-hidden": "true" }, `${KIND_SIGNS[node.kind]} `), wraps(node.title.startsWith(node.kind) ? node.title : `${node.kind} ${node.title}`)),
    h("p", { class: "wb-quiet" }, wraps(node.note)),
    h("p", {}, h("code", {}, wraps(node.where))),
    component(context, node),
    ...faultList(facts, node.faults),
    ...valueTable(context, reads, node.reads),
    ...valueTable(context, makes, node.writes),
    stateList(context, node),
  ].filter(Boolean);
}

function component(context, node) {
  if (!node.artifact) return null;
  if (!context.opens.has(node.component)) return h("p", {}, "ONNX component ", h("code", {}, wraps(node.artifact)));
  return h("p", {}, h("button", { type: "button", "data-do": "graph", onclick: () => context.openGraph(node.component) },
    `Open ${node.artifact} in the graph view`));
}

export function faultList(facts, faults) {
  if (!faults.length) return [];
  const items = faults.map((i) => facts.faults[i]).map((one) => h("li", { class: `wb-flow-finding wb-${one.severity}` },
    h("strong", {}, `${one.severity} ${one.code}`), one.line ? ` line ${one.line}` : "", h("div", {}, wraps(one.message)),
    one.hint ? h("div", { class: "wb-quiet" }, wraps(one.hint)) : null, h("code", {}, wraps(one.where || "document"))));
  return [h("h3", {}, plural(faults.length, "finding")), h("ul", { class: "wb-plain-list" }, items)];
}

// Rows that differ in their numbers alone are one row until it is opened.
function valueTable(context, title, runs) {
  if (!runs.length) return [];
  const body = h("tbody", {});
  for (const run of runs) body.append(...runRows(context, run));
  const head = h("tr", {}, ["port", "value and its contract"].map((word) => h("th", { scope: "col" }, word)));
  return [h("h3", {}, title), h("div", { class: "wb-scroll" }, h("table", { class: "wb-flow-values" }, h("thead", {}, head), body))];
}

function runRows(context, run) {
  const [start, count, port, value] = run;
  if (count === 1) return [valueRow(context, start)];
  const contracts = new Set(Array.from({ length: count }, (_, i) => context.columns.contract.get(start + i)));
  const said = contracts.size === 1 ? [...contracts][0] : `${contracts.size} contracts`;
  const rows = [];
  const button = h("button", { type: "button", class: "wb-unfold", "aria-expanded": "false" }, wraps(`▸\u00a0${port} ×${number(count)}`));
  const head = h("tr", {}, h("td", {}, button), h("td", {}, wraps(value), contractText(said)));
  button.addEventListener("click", () => {
    const opened = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!opened));
    button.replaceChildren(...wraps(`${opened ? "▸" : "▾"}\u00a0${port} ×${number(count)}`));
    if (opened) rows.splice(0).forEach((row) => row.remove());
    else {
      for (let i = 0; i < Math.min(count, MOST_ROWS); i++) rows.push(valueRow(context, start + i));
      if (count > MOST_ROWS) rows.push(h("tr", {}, h("td", { colspan: 2 }, `and ${number(count - MOST_ROWS)} more`)));
      head.after(...rows);
    }
  });
  return [head];
}

function valueRow(context, at) {
  const { columns, facts } = context;
  const [name, maker] = [columns.value.get(at), facts.nodes[columns.maker[at]]];
  const shown = maker ? h("button", { type: "button", class: "wb-link", title: `Made by ${maker.title}: go there`, onclick: () => context.choose(maker.path) },
    wraps(name)) : wraps(name);
  return h("tr", {}, h("td", {}, wraps(columns.port.get(at))), h("td", {}, shown, context.valueStop(name), contractText(columns.contract.get(at) || "as its graph says")));
}

const contractText = (text) => h("div", { class: "wb-quiet" }, text);

function stateList(context, node) {
  if (!node.marks.length) return null;
  const items = node.marks.map(([lane, ...counts]) => h("li", {}, h("button", { type: "button", class: "wb-link",
    onclick: () => context.chooseLane(lane) }, wraps(markText(counts, context.facts.lanes[lane])))));
  return h("div", {}, h("h3", {}, "State"), h("ul", { class: "wb-plain-list" }, items));
}

export function laneDetails(context, index) {
  const { facts } = context;
  const lane = facts.lanes[index];
  const tables = facts.aliases.filter((table) => table.lane === index).map((table) => aliasTable(context, table));
  return [
    h("h3", { class: "wb-flow-what" }, wraps(`${lane.group ? "group" : lane.count > 1 ? "cells" : "cell"} ${lane.name}`)),
    h("p", { class: "wb-quiet" }, wraps(lane.note)), h("p", {}, h("code", {}, wraps(lane.path))),
    ...faultList(facts, lane.faults),
    tables.length ? h("h3", {}, "Cells as ports, by layer") : null, ...tables,
    tables.length ? null : h("p", {}, wraps(lane.cells.join(", "))),
  ].filter(Boolean);
}

// "100 layers × key/value" until it is opened; then a row for each layer.
export function aliasTable(context, table) {
  const { columns } = context;
  const place = h("div", { class: "wb-scroll wb-alias-rows" });
  const more = h("details", { class: "wb-alias" },
    h("summary", {}, h("strong", {}, wraps(`${table.group} in ${table.component}`)), h("span", { class: "wb-quiet" }, wraps(`: ${table.note}`))), place);
  more.addEventListener("toggle", () => {
    if (!more.open || place.childElementCount) return;
    const at = Array.from({ length: table.count }, (_, i) => table.start + i);
    const roles = [...new Set(at.map((i) => columns.alias_role.get(i)))];
    const layers = new Map();
    for (const i of at) layers.set(columns.alias_layer[i], [...(layers.get(columns.alias_layer[i]) || []), i]);
    const contracts = new Set(at.map((i) => columns.alias_contract.get(i))).size;
    const head = h("tr", {}, h("th", { scope: "col", class: "wb-number" }, "layer"), roles.map((role) => h("th", { scope: "col" }, role || "state")));
    const rows = [...layers].map(([layer, found]) => h("tr", {}, h("th", { scope: "row", class: "wb-number" }, layer < 0 ? "none" : number(layer)),
      roles.map((role) => h("td", {}, found.filter((i) => columns.alias_role.get(i) === role).map((i) => aliasCell(columns, i, contracts > 1))))));
    place.replaceChildren(h("table", {}, h("thead", {}, head), h("tbody", {}, rows)));
  });
  return more;
}

// Where all contracts are one, the summary names it.
function aliasCell(columns, i, differ) {
  const [past, present] = [columns.alias_past.get(i), columns.alias_present.get(i)];
  const borrowed = columns.alias_access.get(i) === "read_only";
  return h("div", { title: columns.alias_contract.get(i) }, h("strong", {}, wraps(columns.alias_cell.get(i))),
    h("div", { class: "wb-code" }, wraps(past), present ? [" → ", ...wraps(present)] : "", borrowed ? " (only read)" : ""),
    differ ? h("div", { class: "wb-quiet" }, columns.alias_contract.get(i)) : null);
}
