// The lines beside the steps: who reads what a step makes. Pale ones for all; strong ones for the step that is chosen,
// pointed at or reached by keys: unbroken for what comes in, dashed for what goes out.
import { h } from "./dom.js";
import { svg } from "./small_graph.js";
import { linksAmong, netsOf, rankOf } from "./workflow_nets.js";

const TRACK = 8;
const TURN = 4;
const MOST_NAMES = 3;

// grid: the rows; rowOf(index): the row of a node; active(): the node whose lines are strong, or -1.
export function wiresOf({ grid, facts, columns, rowOf, active }) {
  const pale = svg("g", { class: "wb-wires-pale" });
  const strong = svg("g", { class: "wb-wires-strong" });
  const picture = svg("svg", { width: 1, height: 1 }, pale, strong);
  const element = h("div", { class: "wb-wires", "aria-hidden": "true" }, picture);
  let links = [];
  let laid = { nets: [], far: [], tracks: 0 };
  let places = null; // of rows that stand and are measured

  // What there is to draw for the rows that are seen; the rows are made after it, with its words in them.
  function take(shown) {
    places = null;
    const rows = new Map(shown.map((node, i) => [node.index, i]));
    links = linksAmong(facts, columns, shown);
    const own = links.filter((link) => !link.kept);
    laid = netsOf(own.map(({ source, target }) => [rows.get(source), rows.get(target)]));
    laid.nets.forEach((net) => Object.assign(net, { from: shown[net.source].index, to: net.targets.map((row) => shown[row].index) }));
    const far = new Set(laid.far.map(([source, target]) => `${shown[source].index} ${shown[target].index}`));
    return { links, far: farTexts(facts, own.filter(({ source, target }) => far.has(`${source} ${target}`))), flows: flowTexts(facts, links),
      width: links.length ? TRACK * (laid.tracks + 3) : 0 };
  }

  // Places are measured once for each drawing of the rows: texts wrap, so that heights differ.
  function place() {
    if (!grid.isConnected || !grid.offsetWidth) return;
    const origin = element.getBoundingClientRect();
    const cell = grid.querySelector(".wb-flow-cell").getBoundingClientRect();
    const left = Math.round(cell.right - origin.left) - TRACK * (laid.tracks + 3);
    const track = (n) => left + TRACK * (n + 1);
    const found = new Map();
    for (const index of new Set(links.flatMap(({ source, target }) => [source, target]))) {
      const row = rowOf(index);
      const box = (row.querySelector(".wb-opens") || row.querySelector(".wb-flow-box")).getBoundingClientRect();
      const inner = row.querySelector(".wb-flow-box").getBoundingClientRect();
      found.set(index, { x: Math.round(box.right - origin.left), top: Math.round(inner.top - origin.top), bottom: Math.round(inner.bottom - origin.top) });
    }
    places = { found, track };
    drawPale();
    drawStrong();
  }

  const comes = (index, rank) => Math.min(places.found.get(index).top + 7 + 4 * Math.min(rank, 3), places.found.get(index).bottom - 11);
  const leaves = (index) => places.found.get(index).bottom - 6;

  // All the way to the farthest, to the others what branches off.
  function net(from, ends, x, marked) {
    const start = leaves(from);
    const farthest = (y) => !ends.some(([, other]) => (start < y && y < other) || (other < y && y < start));
    return ends.flatMap(([index, y]) => {
      const turn = y > start ? TURN : -TURN;
      const end = places.found.get(index).x;
      const way = farthest(y) ? `M${places.found.get(from).x} ${start}H${x - TURN}q${TURN} 0 ${TURN} ${turn}V` : `M${x} `;
      return [svg("path", { d: `${way}${y - turn}q0 ${turn} ${-TURN} ${turn}H${end + 6}`, class: "wb-wire", ...marked }), arrow(end, y)];
    });
  }
  const arrow = (x, y) => svg("path", { d: `M${x + 7} ${y - 4}L${x} ${y}L${x + 7} ${y + 4}Z`, class: "wb-wire-end" });

  function drawPale() {
    pale.replaceChildren(...laid.nets.flatMap((one) => net(one.from, one.to.map((index, i) => [index, comes(index, rankOf(laid.nets, one, one.targets[i]))]), places.track(one.track), {})));
  }

  function drawStrong() {
    if (!places) return;
    const index = active();
    const into = links.filter(({ target }) => target === index);
    const out = links.filter(({ source }) => source === index);
    const tracks = [places.track(laid.tracks), places.track(laid.tracks + 1)];
    const incoming = into.flatMap(({ source }) => net(source, [[index, comes(index, 1)]], tracks[0], { "data-from": source, "data-to": index }));
    const outgoing = out.length ? net(index, out.map(({ target }) => [target, comes(target, 1)]), tracks[1], { "data-from": index, "data-to": out.map(({ target }) => target).join(" ") }) : [];
    strong.replaceChildren(svg("g", { class: "wb-wires-in" }, ...incoming), svg("g", { class: "wb-wires-out" }, ...outgoing));
    element.classList.toggle("wb-has-strong", into.length + out.length > 0);
  }

  return { element, take, place, drawStrong };
}

// Values from and to rows too far away for a line: [[arrow and name, all in words]] by node.
function farTexts(facts, links) {
  const found = new Map();
  for (const link of links) {
    const [name, ...more] = link.names;
    const whole = `${facts.nodes[link.source].name} → ${facts.nodes[link.target].name}: ${[...link.names].join(", ")}`;
    for (const [index, other] of [[link.target, link.source], [link.source, link.target]]) {
      const text = `${other < index ? "↑" : "↓"} ${name}${more.length ? ` +${more.length}` : ""}`;
      if (!found.has(index)) found.set(index, new Map());
      found.get(index).set(text, [...(found.get(index).get(text) || []), whole]);
    }
  }
  return new Map([...found].map(([index, texts]) => [index, firstFew(texts)]));
}

function firstFew(texts) {
  const all = [...texts].map(([text, words]) => [text, words.join("; ")]);
  if (all.length <= MOST_NAMES) return all;
  return [...all.slice(0, MOST_NAMES - 1), [`↕ ${all.length - MOST_NAMES + 1} more`, all.slice(MOST_NAMES - 1).map(([, whole]) => whole).join("; ")]];
}

// The same for those who do not see lines: with whom a row deals, by node.
function flowTexts(facts, links) {
  const found = new Map();
  const add = (index, word, other) => {
    if (!found.has(index)) found.set(index, new Map());
    found.get(index).set(word, [...(found.get(index).get(word) || []), facts.nodes[other].name]);
  };
  for (const { source, target } of links) {
    add(target, "reads from", source);
    add(source, "goes to", target);
  }
  return new Map([...found].map(([index, words]) => [index, [...words].map(([word, titles]) => `${word} ${few([...new Set(titles)])}`)]));
}

const few = (names) => (names.length > MOST_NAMES ? `${names.slice(0, MOST_NAMES).join(", ")} and ${names.length - MOST_NAMES} more` : names.join(", "));

export function wiresLegend() {
  const line = (name) => svg("svg", { width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" }, svg("g", { class: name },
    svg("path", { d: "M26 5H6", class: "wb-wire" }), svg("path", { d: "M8 1L1 5L8 9Z", class: "wb-wire-end" })));
  const kinds = [["wb-wires-pale", "to who reads it"], ["wb-wires-in", "into the chosen step"], ["wb-wires-out", "out of it"]];
  return h("div", { class: "wb-flow-legend", role: "note" }, h("span", {}, "Data:"), kinds.map(([name, words]) => h("span", {}, line(name), words)),
    h("span", {}, "↑ ↓ from and to steps far away"));
}
