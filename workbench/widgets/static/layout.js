// Where everything lies: frames in frames, rows in frames, lines through frames.
// Twin of workbench/viz/graph/layout.py: whole numbers, and the same ones.
import { fold, SAME, ADDED, REMOVED, FIRST, SECOND } from "./fold.js";
import { rowsOf } from "./rows.js";
import { newItem, order, place } from "./place.js";

export const [BOX, HEAD, PAD, ROW_GAP, PORT_GAP, MARGIN] = [40, 28, 16, 30, 10, 24];
const POINT = 8;
const [IN, OUT] = [-2, -1];
export const FIELDS = 9; // of a piece: x1 y1 y2 x2 y3 y4 source sides arrow

export function layout(scene, expanded) {
  const folded = fold(scene, expanded);
  const found = rowsOf(scene.parent, folded);
  const segments = segmentsOf(scene.parent, folded, found);
  const made = { folded, far: found.far, pieces: [] };
  for (const name of "xywh") made[name] = new Int32Array(scene.parent.length).fill(-1);
  const inside = new Map();
  for (const frame of [...folded.children.keys()].reverse()) {
    inside.set(frame, new Frame(scene, folded, found, segments.get(frame), frame, inside));
  }
  settle(made, inside, 0, 0, 0);
  const cut = new Set([...inside.values()].flatMap((frame) => frame.cut));
  if (cut.size) made.far = made.far.map((far, i) => far || cut.has(folded.edges[i].slice(0, 2).join()));
  made.pieces = Int32Array.from(made.pieces);
  return made;
}

// For each frame, what runs through it, by source: {start, ends: Map(to -> sides)}.
function segmentsOf(parent, folded, found) {
  const segments = new Map([...folded.children.keys()].map((frame) => [frame, new Map()]));
  const put = (frame, source, start, end, sides) => {
    const nets = segments.get(frame);
    if (!nets.has(source)) nets.set(source, { start, ends: new Map() });
    const { ends } = nets.get(source);
    ends.set(end, (ends.get(end) ?? 0) | sides);
  };
  folded.edges.forEach(([source, target, sides], i) => {
    if (found.far[i]) return;
    const [frame, top, bottom] = found.lifted[i];
    for (let a = source; a !== top; a = parent[a]) put(parent[a], source, a, OUT, sides);
    put(frame, source, top, bottom, sides);
    for (let b = target; b !== bottom; b = parent[b]) put(parent[b], source, IN, b, sides);
  });
  return segments;
}

class Frame {
  constructor(scene, folded, found, nets, frame, inside) {
    Object.assign(this, { scene, inside, ins: new Map(), outs: new Map(), links: [], items: new Map() });
    const all = [...nets.values()];
    this.shift = all.some((net) => net.start === IN) ? 1 : 0;
    const leaves = all.some((net) => net.ends.has(OUT)) ? 1 : 0;
    this.rows = Array.from({ length: this.shift + found.count.get(frame) + leaves }, () => []);
    for (const child of folded.children.get(frame)) {
      const width = inside.has(child) ? inside.get(child).w : scene.width[child];
      this.items.set(child, this.add(child, found.row.get(child) + this.shift, width, leanOf(scene, child)));
    }
    for (const [source, net] of nets) this.drawNet(source, net);
    order(this.rows);
    place(this.rows);
    this.cut = this.links.filter(isCut).map(([, b, source]) => `${source},${b.id}`);
    this.measure(frame);
  }

  add(box, row, width, lean) {
    const item = newItem(box, row, width, lean);
    this.rows[row].push(item);
    return item;
  }

  // One trunk for each source, down to its last reader here; readers hang on the trunk in the row above.
  drawNet(source, { start, ends }) {
    let trunk = start === IN ? this.add(-1, 0, POINT, 0) : this.items.get(start);
    if (start === IN) this.ins.set(source, trunk);
    const targets = [...ends].map(([end, sides]) => [this.endOf(source, end), sides]);
    const last = Math.max(...targets.map(([item]) => item.row));
    for (let row = trunk.row + 1; row <= last; row++) {
      let beyond = 0;
      for (const [item, sides] of targets) {
        if (item.row === row) this.link(trunk, item, source, sides);
        else if (item.row > row) beyond |= sides;
      }
      if (row === last) break;
      const point = this.add(-1, row, POINT, (beyond === SECOND) - (beyond === FIRST));
      this.link(trunk, point, source, beyond);
      trunk = point;
    }
  }

  endOf(source, end) {
    if (end !== OUT) return this.items.get(end);
    const item = this.add(-1, this.rows.length - 1, POINT, 0);
    this.outs.set(source, item);
    return item;
  }

  link(a, b, source, sides) {
    b.above.push([a, this.inside.has(b.id) ? 0 : this.port(a, source, true)]);
    a.below.push([b, this.inside.has(a.id) ? 0 : this.port(b, source, false)]);
    this.links.push([a, b, source, sides]);
  }

  // Where a line touches an item, from the middle of it.
  port(item, source, down) {
    const frame = this.inside.get(item.id);
    return frame ? (down ? frame.outs : frame.ins).get(source).x - frame.w / 2 : 0;
  }

  measure(frame) {
    const root = frame === 0;
    const [pad, head] = root ? [MARGIN, MARGIN] : [PAD, HEAD];
    let [left, right] = this.rows.some((row) => row.length) ? [Infinity, -Infinity] : [0, 0];
    for (const item of this.rows.flat()) {
      left = Math.min(left, item.x - item.width / 2);
      right = Math.max(right, item.x + item.width / 2);
    }
    const content = right - left + ((right - left) % 2);
    this.w = Math.max(content + 2 * pad, root ? 0 : this.scene.head[frame]);
    for (const item of this.rows.flat()) item.x += (this.w - content) / 2 - left;
    this.stack(head);
    this.h = (this.rows.length ? this.bottoms.at(-1) : head) + pad;
  }

  stack(head) {
    Object.assign(this, { tops: [], bottoms: [], lines: [] });
    let y = head;
    this.rows.forEach((row, at) => {
      const thin = (at === 1 && this.shift) || !row.some((item) => item.id >= 0);
      if (at) y += thin ? PORT_GAP : ROW_GAP;
      this.tops.push(y);
      const heights = [0];
      for (const item of row) heights[item.line] = Math.max(heights[item.line] ?? 0, this.height(item));
      this.lines.push(heights.map((height, line) => {
        y += (line ? PORT_GAP : 0) + height;
        return y - height;
      }));
      this.bottoms.push(y);
    });
  }

  height(item) {
    if (item.id < 0) return 0;
    return this.inside.has(item.id) ? this.inside.get(item.id).h : BOX;
  }

  piece([a, b, source, sides], left, top) {
    const x1 = a.x + this.port(a, source, true);
    const x2 = b.x + this.port(b, source, false);
    const [y2, y3] = [this.bottoms[a.row], this.tops[b.row]];
    let y1 = this.shift && a.row === 0 ? 0 : this.tops[a.row];
    if (a.id >= 0) y1 = this.lines[a.row][a.line] + this.height(a);
    let y4 = this.outs.get(source) === b ? this.h : y3;
    if (b.id >= 0) y4 = this.lines[b.row][b.line];
    const arrow = b.id >= 0 && !this.inside.has(b.id) ? 1 : 0;
    return [x1 + left, y1 + top, y2 + top, x2 + left, y3 + top, y4 + top, source, sides, arrow];
  }
}

function leanOf(scene, child) {
  const status = scene.statusOf(child);
  return status === ADDED ? 1 : status === REMOVED ? -1 : SAME;
}

// A line to a box in a lower line of a wrapped row would run across the boxes above: a badge instead.
function isCut([, b]) {
  return b.id >= 0 && b.line > 0;
}

function settle(made, inside, frame, left, top) {
  const here = inside.get(frame);
  made.x[frame] = left;
  made.y[frame] = top;
  made.w[frame] = here.w;
  made.h[frame] = here.h;
  for (const link of here.links) if (!isCut(link)) made.pieces.push(...here.piece(link, left, top));
  for (const [box, item] of here.items) {
    const x = left + item.x - item.width / 2;
    const y = top + here.lines[item.row][item.line];
    if (inside.has(box)) settle(made, inside, box, x, y);
    else {
      made.x[box] = x;
      made.y[box] = y;
      made.w[box] = item.width;
      made.h[box] = BOX;
    }
  }
}
