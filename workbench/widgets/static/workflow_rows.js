// The nested steps as rows of a tree grid; beside each what it does to every lane of state.
import { h, number } from "./dom.js";
import { svg } from "./small_graph.js";

export const KIND_SIGNS = { workflow: "▤", inputs: "⇤", invoke: "▣", loop: "↻", setup: "①", while: "?", carry: "↺", branch: "◇", case: "▷",
  join: "◁", sequence: "≡", emit: "⇥" };
const DEEPEST = 14; // frames that are drawn inside each other; there is no room for more
const FRAME_KINDS = new Set(["workflow", "loop", "setup", "branch", "case", "sequence"]);
export const MARK_WORDS = ["starts", "reads", "makes the next value of", "takes over"];

// Text that may be broken where names of values are best broken.
export function wraps(text) {
  return text.split(/(?<=[._/(@])/).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
}

export const isFrame = (node) => FRAME_KINDS.has(node.kind);

// Which nodes are seen, and what a folded frame does to state in all.
export function visibleNodes(nodes, folded) {
  const shown = [];
  const hidden = new Set();
  for (const node of nodes) {
    if (node.parent >= 0 && hidden.has(node.parent)) hidden.add(node.index);
    else {
      shown.push(node);
      if (folded.has(node.path)) hidden.add(node.index);
    }
  }
  return shown;
}

// What the chosen step takes from others, and what others take from it: [[sign and word, names]] by node that is seen.
export function linksOf(links, chosen) {
  const found = new Map();
  const add = (index, word, names) => found.set(index, [...(found.get(index) || []), [word, [...names]]]);
  for (const { source, target, names } of links) {
    if (target === chosen?.index) add(source, "↳ gives", names);
    else if (source === chosen?.index) add(target, "↰ takes", names);
  }
  return found;
}

function linkTexts(links) {
  return (links || []).map(([word, names]) => `${word} ${some(names)}`);
}

const some = (names) => `${names.slice(0, 2).join(", ")}${names.length > 2 ? ` and ${names.length - 2} more` : ""}`;

export function inside(nodes, node) {
  let end = node.index + 1;
  while (end < nodes.length && nodes[end].depth > node.depth) end++;
  return nodes.slice(node.index + 1, end);
}

// [[lane, starts, reads, makes, carries]] of a node, or of everything in a folded one.
export function marksOf(nodes, node, isFolded) {
  if (!isFolded) return node.marks;
  const sums = new Map();
  for (const [lane, ...counts] of [node, ...inside(nodes, node)].flatMap((one) => one.marks)) {
    const sum = sums.get(lane) || [0, 0, 0, 0];
    sums.set(lane, sum.map((n, i) => Math.max(n, counts[i])));
  }
  return [...sums].map(([lane, counts]) => [lane, ...counts]);
}

export function markText(counts, lane) {
  const said = counts.flatMap((n, i) => (n ? [`${MARK_WORDS[i]} ${n > 1 ? `${number(n)} cells` : "it"}`] : []));
  return `${lane.name}: ${said.join(", ")}`;
}

// Shapes say what is done, so that colour is never needed.
export function markShape([starts, reads, makes, carries]) {
  const [picture, c] = [svg("svg", { width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": "true", class: "wb-flow-shape" }), 10];
  const diamond = "M10 2L18 10L10 18L2 10Z";
  if (starts || carries) picture.append(svg("path", { d: diamond, class: carries ? "wb-full" : "wb-empty" }));
  else picture.append(svg("circle", { cx: c, cy: c, r: reads && makes ? 8 : 6, class: makes && !reads ? "wb-full" : "wb-empty" }));
  if ((starts && carries) || (reads && makes)) picture.append(svg("circle", { cx: c, cy: c, r: 3, class: "wb-full" }));
  return picture;
}

// One row: its frames around it, its box, then a cell for each lane.
export function flowRow(context, node, following, spans) {
  const { facts, folded, chosen, now, breaks } = context;
  const [isFolded, frame] = [folded.has(node.path), isFrame(node)];
  const marks = new Map(marksOf(facts.nodes, node, isFolded).map(([lane, ...counts]) => [lane, counts]));
  const lanes = facts.lanes.map((lane, i) => laneCell(lane, marks.get(i), spans[i] && between(spans[i], node.index)));
  const row = h("div", {
    role: "row", class: "wb-flow-row", "data-index": node.index, tabindex: "-1", "aria-level": node.depth + 1,
    "aria-expanded": frame ? String(!isFolded) : undefined, "aria-selected": String(chosen === node.path),
    "aria-current": now === node.index ? "step" : undefined, "aria-label": rowLabel(context, node, isFolded),
  }, h("div", { role: "gridcell", class: "wb-flow-cell" }, framed(facts, node, following, isFolded, stepBox(context, node, isFolded))), lanes);
  return row;
}

const between = ([first, last], index) => (index > first && index < last ? "through" : index === first ? "down" : index === last ? "up" : "");

function rowLabel({ facts, breaks, links, flows }, node, isFolded) {
  const faults = faultsOf(facts, node, isFolded);
  const parts = [node.kind, node.title, node.note, isFolded ? `folded, ${inside(facts.nodes, node).length} inside` : ""];
  if (faults.length) parts.push(`${faults.length} findings: ${[...new Set(faults.map((i) => facts.faults[i].code))].join(" ")}`);
  if (breaks.has(node.path)) parts.push("breakpoint");
  parts.push(...linkTexts(links.get(node.index)).map((text) => text.slice(2)), ...(flows.get(node.index) || []));
  return parts.filter(Boolean).join(", ");
}

export function faultsOf(facts, node, isFolded) {
  return isFolded ? [node, ...inside(facts.nodes, node)].flatMap((one) => one.faults) : node.faults;
}

// The frames that a row lies in, the outermost first; the first row of a frame has its upper edge, the last its lower.
function framed(facts, node, following, isFolded, content) {
  const frames = [];
  for (let at = isFrame(node) ? node : facts.nodes[node.parent]; at; at = facts.nodes[at.parent]) frames.unshift(at);
  let inner = content;
  for (const frame of frames.slice(-DEEPEST).reverse()) {
    const closes = !following || following.depth <= frame.depth;
    const classes = ["wb-frame", `wb-frame-${frame.kind}`, frame === node ? "wb-opens" : "", closes ? "wb-closes" : ""];
    inner = h("div", { class: classes.filter(Boolean).join(" ") }, inner);
  }
  return inner;
}

function stepBox(context, node, isFolded) {
  const { facts, breaks, now, values } = context;
  const frame = isFrame(node);
  const faults = faultsOf(facts, node, isFolded);
  const head = h("div", { class: "wb-flow-head" },
    frame ? h("span", { class: "wb-flow-twist", "aria-hidden": "true" }, isFolded ? "▸" : "▾") : null,
    h("span", { class: "wb-flow-sign", "aria-hidden": "true" }, KIND_SIGNS[node.kind]),
    h("span", { class: "wb-flow-title" }, wraps(node.title)),
    isFolded ? h("span", { class: "wb-flow-count" }, `${inside(facts.nodes, node).length} inside`) : null,
    breaks.has(node.path) ? h("span", { class: "wb-flow-break" }, "■ stop") : null,
    now === node.index ? h("span", { class: "wb-flow-now" }, "▶ now") : null, linkTexts(context.links.get(node.index)).map((text) => h("span", { class: `wb-flow-link ${text.startsWith("↳") ? "wb-gives" : "wb-takes"}` }, text)),
    (context.far.get(node.index) || []).map(([text, whole]) => h("span", { class: "wb-flow-far", title: whole }, text)),
    faults.length ? faultBadge(facts, faults) : null);
  const said = node.kind === "invoke" ? values(node) : node.note;
  const quiet = said ? h("div", { class: "wb-flow-note" }, wraps(said)) : null;
  return h("div", { class: `wb-flow-box wb-kind-${node.kind}${faults.some((i) => facts.faults[i].severity === "error") ? " wb-faulty" : ""}` }, head, quiet);
}

export function faultBadge(facts, faults) {
  const codes = [...new Set(faults.map((i) => facts.faults[i].code))];
  return h("span", { class: "wb-flow-fault" }, `! ${codes.slice(0, 3).join(" ")}${codes.length > 3 ? ` +${codes.length - 3}` : ""}`);
}

function laneCell(lane, counts, line) {
  const cell = h("div", { role: "gridcell", class: `wb-lane${line ? ` wb-lane-${line}` : ""}` });
  if (!counts) return cell;
  const said = markText(counts, lane);
  cell.setAttribute("aria-label", said);
  cell.title = said;
  const most = Math.max(...counts);
  cell.append(markShape(counts));
  if (most > 1) cell.append(h("span", { class: "wb-lane-count" }, number(most)));
  return cell;
}

// From where to where the line of each lane is drawn, over the nodes that are seen.
export function laneSpans(facts, shown, folded) {
  const spans = facts.lanes.map(() => null);
  for (const node of shown) {
    for (const [lane] of marksOf(facts.nodes, node, folded.has(node.path))) {
      spans[lane] = spans[lane] ? [spans[lane][0], node.index] : [node.index, node.index];
    }
  }
  return spans;
}

export function legend() {
  const shapes = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]];
  const words = ["starts", "reads", "makes the next value", "reads and makes", "takes over for the next round"];
  return h("div", { class: "wb-flow-legend", role: "note" }, h("span", {}, "State:"), shapes.map((shape, i) => h("span", {}, markShape(shape), words[i])));
}
