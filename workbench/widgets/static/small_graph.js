// A few dozen nodes as layers, producers above: for the nodes of a rewrite and those around a miss.
import { h, shorten } from "./dom.js";

const BOX = { width: 150, height: 36, gap: 16, step: 64, bend: 8 };
// Each mark has a sign and a dash of its own, so that colour is never alone.
const MARKS = {
  removed: ["−", "6 3", "removed"],
  added: ["+", "", "added"],
  changed: ["~", "2 3", "stays, reads or is called differently"],
  anchor: ["◆", "", "the anchor"],
  agrees: ["=", "", "agrees with the pattern"],
  differs: ["≠", "6 3", "differs from the pattern"],
  around: ["", "", "beside it"],
};

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// nodes: [{name, op, mark, lost}], edges: [[source, target, value]]; pick(node) is called with the chosen node.
export function smallGraph(nodes, edges, { label, pick, chosen }) {
  const { places, bends, width, height } = layersOf(nodes, edges);
  const picture = svg("svg", {
    class: "wb-small", role: "group", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}`,
  });
  edges.forEach(([from, to, value], i) => picture.append(line(places[from], bends[i], places[to], value)));
  const boxes = nodes.map((node, i) => box(node, places[i], node.name === chosen));
  picture.append(...boxes);
  boxes.forEach((element, i) => rove(element, i, boxes, () => pick(nodes[i])));
  return h("div", { class: "wb-scroll" }, picture);
}

// One of the boxes is in the tab order; arrows go on to the others.
function rove(element, i, all, choose) {
  element.setAttribute("tabindex", i === 0 ? "0" : "-1");
  element.addEventListener("click", choose);
  element.addEventListener("keydown", (event) => {
    const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: all.length - 1 };
    if (event.key === "Enter" || event.key === " ") choose();
    else if (!(event.key in to)) return;
    else if (all[to[event.key]]) focusOn(all, to[event.key]);
    event.preventDefault();
    event.stopPropagation();
  });
}

function focusOn(all, at) {
  all.forEach((one, k) => one.setAttribute("tabindex", k === at ? "0" : "-1"));
  all[at].focus();
}

// "com.microsoft.GroupQueryAttention" -> "GroupQueryAttention".
export function bare(op) {
  return op.slice(op.lastIndexOf(".") + 1);
}

function tail(text, most) {
  return text.length <= most ? text : `…${text.slice(1 - most)}`;
}

function box(node, place, chosen) {
  const [sign, dash, said] = MARKS[node.mark];
  const shape = svg("rect", {
    x: place.x - place.width / 2, y: place.y, width: place.width, height: place.height, rx: 3, "stroke-dasharray": dash,
  });
  const texts = [
    svg("text", { x: place.x, y: place.y + 15 }, `${sign} ${shorten(bare(node.op), 18)}`.trim()),
    svg("text", { x: place.x, y: place.y + 29, class: "wb-small-name" }, tail(node.name, 22)),
  ];
  const title = svg("title", {}, `${node.op} ${node.name}: ${said}`.trim());
  const attributes = { class: `wb-small-node wb-mark-${node.mark}${chosen ? " wb-chosen" : ""}` };
  Object.assign(attributes, { role: "button", "aria-pressed": String(Boolean(chosen)) });
  attributes["aria-label"] = `${bare(node.op)}, ${said}, ${tail(node.name, 120) || "unnamed"}`;
  return svg("g", attributes, title, shape, ...texts);
}

function line(from, bends, to, value) {
  let [x, y] = [from.x, from.y + from.height];
  let path = `M${x} ${y}`;
  for (const next of [...bends, { x: to.x, y: to.y, down: to.y }]) {
    const half = Math.round((y + next.y) / 2);
    path += `C${x} ${half} ${next.x} ${half} ${next.x} ${next.y}V${next.down}`;
    [x, y] = [next.x, next.down];
  }
  const end = { x: to.x, y: to.y };
  const head = `M${end.x - 4} ${end.y - 6}L${end.x} ${end.y}L${end.x + 4} ${end.y - 6}`;
  return svg("g", { class: "wb-small-edge" }, svg("title", {}, value), svg("path", { d: path }), svg("path", { d: head }));
}

// Longest path from the top; an edge over several layers gets a slot in each that it crosses.
function layersOf(nodes, edges) {
  const depth = depths(nodes.length, edges);
  const layers = Array.from({ length: Math.max(0, ...depth) + 1 }, () => []);
  nodes.forEach((_, i) => layers[depth[i]].push({ node: i, size: BOX.width }));
  const slots = edges.map(([from, to]) => {
    const way = [];
    for (let k = depth[from] + 1; k < depth[to]; k++) {
      way.push({ node: -1, size: BOX.bend });
      layers[k].push(way[way.length - 1]);
    }
    return way;
  });
  arrange(layers, edges, slots);
  const width = Math.max(BOX.width, ...layers.map(widthOf)) + 2;
  layers.forEach((layer, k) => place(layer, k, width));
  const places = [];
  for (const item of layers.flat()) {
    if (item.node >= 0) places[item.node] = { x: item.x, y: item.y, width: item.size, height: BOX.height };
  }
  const bends = slots.map((way) => way.map((item) => ({ x: item.x, y: item.y, down: item.y + BOX.height })));
  return { places, bends, width, height: layers.length * BOX.step - (BOX.step - BOX.height) + 4 };
}

function depths(count, edges) {
  const depth = new Array(count).fill(0);
  for (let round = 0, moved = true; moved && round <= count; round++) {
    moved = false;
    for (const [from, to] of edges) {
      if (from !== to && depth[to] <= depth[from]) [depth[to], moved] = [depth[from] + 1, true];
    }
  }
  // What nothing above holds down moves next to its first reader.
  const near = depth.map(() => Infinity);
  for (const [from, to] of edges) near[from] = Math.min(near[from], depth[to] - 1);
  const held = new Set(edges.map(([, to]) => to));
  return depth.map((d, i) => (held.has(i) || near[i] === Infinity ? d : near[i]));
}

function widthOf(layer) {
  return layer.reduce((sum, item) => sum + item.size + BOX.gap, -BOX.gap);
}

// Three sweeps: each item goes to the mean of what it is tied to in the layer before, then in the one behind.
function arrange(layers, edges, slots) {
  const item = new Map(layers.flat().filter((one) => one.node >= 0).map((one) => [one.node, one]));
  const ties = edges.flatMap(([from, to], i) => {
    const way = [item.get(from), ...slots[i], item.get(to)];
    return way.slice(1).map((one, k) => [way[k], one]);
  });
  const [above, below] = [new Map(), new Map()];
  for (const [a, b] of ties) {
    above.set(b, [...(above.get(b) || []), a]);
    below.set(a, [...(below.get(a) || []), b]);
  }
  layers.forEach((layer) => layer.forEach((one, k) => (one.rank = k)));
  for (let sweep = 0; sweep < 3; sweep++) {
    layers.slice(1).forEach((layer) => order(layer, above));
    [...layers].reverse().slice(1).forEach((layer) => order(layer, below));
  }
}

function order(layer, ties) {
  const mean = (one) => {
    const found = ties.get(one);
    return found ? found.reduce((sum, other) => sum + other.rank, 0) / found.length : one.rank;
  };
  const keys = new Map(layer.map((one) => [one, mean(one)]));
  layer.sort((a, b) => keys.get(a) - keys.get(b) || a.rank - b.rank);
  layer.forEach((one, k) => (one.rank = k));
}

function place(layer, k, width) {
  let x = Math.round((width - widthOf(layer)) / 2);
  for (const one of layer) {
    one.x = x + Math.round(one.size / 2);
    one.y = 1 + k * BOX.step;
    x += one.size + BOX.gap;
  }
}
