// Rows of a layered picture, frame by frame. Twin of workbench/viz/graph/rows.py.
const LONG = 6;
const CHAIN = 3;

export function rowsOf(parent, folded) {
  const depth = new Map();
  for (const [frame, inside] of folded.children) {
    const below = (depth.get(frame) ?? 0) + 1;
    for (const child of inside) depth.set(child, below);
  }
  const lifted = folded.edges.map(([a, b]) => lift(parent, depth, a, b));
  const pairs = new Map([...folded.children.keys()].map((frame) => [frame, new Map()]));
  for (const [frame, a, b] of lifted) pairs.get(frame).set(a * parent.length + b, [a, b]);
  const row = new Map();
  const count = new Map();
  for (const [frame, inside] of folded.children) {
    const local = new Map(inside.map((child, i) => [child, i]));
    const found = settleRows(inside.length, [...pairs.get(frame).values()].map(([a, b]) => [local.get(a), local.get(b)]));
    if (frame === 0) sinkUntied(found, inside, pairs.get(frame));
    let most = -1;
    inside.forEach((child, i) => {
      row.set(child, found[i]);
      most = Math.max(most, found[i]);
    });
    count.set(frame, most + 1);
  }
  const far = lifted.map((edge, i) => isFar(parent, row, count, edge, folded.edges[i]));
  return { row, count, lifted, far };
}

// The frame where two boxes part, and the child of it on either side.
function lift(parent, depth, a, b) {
  while (depth.get(a) > depth.get(b)) a = parent[a];
  while (depth.get(b) > depth.get(a)) b = parent[b];
  while (parent[a] !== parent[b]) {
    a = parent[a];
    b = parent[b];
  }
  return [parent[a], a, b];
}

export function settleRows(count, pairs) {
  const outs = Array.from({ length: count }, () => []);
  const ins = Array.from({ length: count }, () => []);
  for (const [a, b] of pairs) {
    outs[a].push(b);
    ins[b].push(a);
  }
  const { row, order } = longest(outs, ins);
  const at = new Int32Array(count);
  order.forEach((i, n) => (at[i] = n));
  pull(row, order, outs.map((bs, a) => bs.filter((b) => at[b] > at[a])), ins.map((as, b) => as.filter((a) => at[a] < at[b])));
  return row;
}

function longest(outs, ins) {
  const count = outs.length;
  const waiting = ins.map((sources) => sources.length);
  const queued = waiting.map((n) => n === 0);
  const order = [];
  queued.forEach((is, i) => is && order.push(i));
  const row = new Int32Array(count);
  let scan = 0;
  for (let head = 0; head < count; head++) {
    if (head === order.length) {
      while (queued[scan]) scan++; // a knot: what was read out of it first goes first
      queued[scan] = true;
      order.push(scan);
    }
    const here = order[head];
    for (const there of outs[here]) {
      if (queued[there]) continue; // runs back
      row[there] = Math.max(row[there], row[here] + 1);
      if (--waiting[there] === 0) {
        queued[there] = true;
        order.push(there);
      }
    }
  }
  return { row, order };
}

function pull(row, order, outs, ins) {
  const chain = new Int32Array(row.length);
  for (const i of order) {
    if (ins[i].every((a) => chain[a] > 0 && chain[a] < CHAIN && outs[a].length === 1)) {
      chain[i] = 1 + ins[i].reduce((most, a) => Math.max(most, chain[a]), 0);
    }
  }
  for (const i of order.reverse()) {
    if (chain[i] && outs[i].length) row[i] = Math.max(row[i], outs[i].reduce((least, b) => Math.min(least, row[b]), Infinity) - 1);
  }
}

// Bodies of functions, which no value reaches, lie at the bottom of the picture, out of the way.
function sinkUntied(row, inside, pairs) {
  const tied = new Set([...pairs.values()].flat());
  const last = row.reduce((most, n) => Math.max(most, n), 0);
  inside.forEach((child, i) => {
    if (!tied.has(child)) row[i] = last;
  });
}

// Rows on the way out of the frames around the source, across, and into those around the target.
function isFar(parent, row, count, [, top, bottom], [source, target]) {
  let across = row.get(bottom) - row.get(top);
  if (across < 1) return true;
  for (let a = source; a !== top; a = parent[a]) across += count.get(parent[a]) - 1 - row.get(a);
  for (let b = target; b !== bottom; b = parent[b]) across += row.get(b);
  return across > LONG;
}
