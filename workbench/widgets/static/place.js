// Order within rows and places across. Twin of workbench/viz/graph/place.py.
const SWEEPS = 4;
const UNIT = 64;
const LEAN = 48;
const GAP = 18;
const THIN_GAP = 8;
const [WRAP, MANY] = [1500, 7];

// Something in a row: a box, or a point (id -1) where a line passes. above, below: [[item, shift]]
export function newItem(id, row, width, lean) {
  return { id, row, width, lean, x: 0, place: 0, line: 0, key: 0, above: [], below: [] };
}

export function order(rows) {
  rows.forEach(numberRow);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (let n = 1; n < rows.length; n++) {
      const row = rows[down ? n : rows.length - 1 - n];
      for (const item of row) item.key = barycentre(item, down ? item.above : item.below);
      row.sort((a, b) => a.key - b.key || a.place - b.place);
      numberRow(row);
    }
  }
}

function numberRow(row) {
  row.forEach((item, i) => (item.place = i));
}

function barycentre(item, joints) {
  if (!joints.length) return item.place * UNIT;
  let sum = 0;
  for (const [other] of joints) sum += other.place;
  return Math.floor((UNIT * sum) / joints.length) + LEAN * item.lean;
}

export function place(rows) {
  const lines = rows.flatMap(wrapRow);
  lines.forEach(pack);
  const up = [...lines].reverse();
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const line of down ? lines : up) approach(line, down ? [ABOVE, ABOVE] : [BELOW, BELOW]);
  }
  for (const line of up) approach(line, [BELOW, AROUND]);
  for (const line of lines) approach(line, [ABOVE, AROUND]);
}

const ABOVE = (item) => item.above;
const BELOW = (item) => item.below;
const AROUND = (item) => [...item.above, ...item.below];

function wrapRow(row) {
  if (row.filter((item) => item.id >= 0).length < MANY) return [row];
  const lines = [[]];
  let width = 0;
  for (const item of row) {
    if (lines.at(-1).length && width + item.width > WRAP) {
      lines.push([]);
      width = 0;
    }
    item.line = lines.length - 1;
    lines.at(-1).push(item);
    width += item.width + GAP;
  }
  return lines;
}

function stepsOf(line) {
  const steps = line.length ? [0] : [];
  for (let i = 1; i < line.length; i++) {
    const gap = line[i - 1].id < 0 && line[i].id < 0 ? THIN_GAP : GAP;
    steps.push(steps[i - 1] + (line[i - 1].width + line[i].width) / 2 + gap);
  }
  return steps;
}

function pack(line) {
  const steps = stepsOf(line);
  line.forEach((item, i) => (item.x = steps[i] - Math.floor(steps.at(-1) / 2)));
}

// Least squares with the order kept: neighbours that would overlap move as one block.
function approach(line, [points, boxes]) {
  const steps = stepsOf(line);
  const blocks = [];
  line.forEach((item, i) => {
    const near = item.id < 0 ? points(item) : boxes(item);
    const weight = 1 + near.length;
    blocks.push({ weight, total: weight * (wishOf(item, near) - steps[i]), length: 1 });
    while (blocks.length > 1 && spot(blocks.at(-2)) > spot(blocks.at(-1))) {
      const last = blocks.pop();
      const before = blocks.at(-1);
      before.weight += last.weight;
      before.total += last.total;
      before.length += last.length;
    }
  });
  let at = 0;
  for (const block of blocks) {
    const x = spot(block);
    for (const end = at + block.length; at < end; at++) line[at].x = x + steps[at];
  }
}

function wishOf(item, near) {
  let pull = 0;
  let total = 0;
  for (const [other, shift] of near) {
    const strength = other.id >= 0 ? 3 : 1; // a box pulls thrice as strong as a line that passes by
    pull += strength;
    total += strength * (other.x + shift);
  }
  return pull ? Math.floor(total / pull) : item.x;
}

function spot(block) {
  return Math.floor(block.total / block.weight);
}
