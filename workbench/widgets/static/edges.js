// Along the edges: who reads whom, the lines of a selected box, the next box in a direction.
import { FIELDS } from "./layout.js";

// leaf -> {before, after}: the leaves it reads from and is read by.
export function neighboursOf(scene) {
  let lists = null;
  const collect = () => {
    lists = [new Map(), new Map()];
    scene.source.forEach((source, i) => {
      for (const [list, key, other] of [[lists[0], scene.target[i], source], [lists[1], source, scene.target[i]]]) {
        if (!list.has(key)) list.set(key, new Set());
        list.get(key).add(other);
      }
    });
  };
  return (leaf) => {
    if (!lists) collect();
    return { before: [...(lists[0].get(leaf) ?? [])], after: [...(lists[1].get(leaf) ?? [])] };
  };
}

// The pieces of lines into and out of a box.
export function trace({ laid }, id) {
  if (id < 0 || laid.w[id] < 0) return null;
  const found = new Set();
  const { pieces, x, y, w } = laid;
  for (let i = 0; i < pieces.length; i += FIELDS) if (pieces[i + 6] === id) found.add(i);
  const sources = new Set(laid.folded.edges.filter(([, b], i) => b === id && !laid.far[i]).map(([a]) => a));
  const ends = new Map();
  for (let i = 0; i < pieces.length; i += FIELDS) {
    if (sources.has(pieces[i + 6])) ends.set(`${pieces[i + 6]} ${pieces[i + 3]} ${pieces[i + 5]}`, i);
  }
  for (const source of sources) {
    let at = ends.get(`${source} ${x[id] + w[id] / 2} ${y[id]}`);
    while (at !== undefined && !found.has(at)) {
      found.add(at);
      at = ends.get(`${source} ${pieces[at]} ${pieces[at + 1]}`);
    }
  }
  return found;
}

// The box that an arrow key leads to: along an edge up or down, to the next one left or right.
export function walk({ laid }, id, key) {
  const { x, y, w, h, folded, boxes } = laid;
  if (id < 0 || w[id] < 0) return boxes[0] ?? -1;
  const middle = (box) => x[box] + w[box] / 2;
  if (key === "ArrowUp" || key === "ArrowDown") {
    const [here, there] = key === "ArrowUp" ? [1, 0] : [0, 1];
    const ends = folded.edges.filter((edge) => edge[here] === id).map((edge) => edge[there]);
    return nearest(ends, (box) => Math.abs(middle(box) - middle(id)) + Math.abs(y[box] - y[id]));
  }
  const way = key === "ArrowLeft" ? -1 : 1;
  const beside = boxes.filter((box) => (middle(box) - middle(id)) * way > 0 && y[box] < y[id] + h[id] && y[box] + h[box] > y[id]);
  return nearest(beside, (box) => Math.abs(middle(box) - middle(id)));
}

function nearest(boxes, far) {
  let best = -1;
  for (const box of boxes) if (best < 0 || far(box) < far(best)) best = box;
  return best;
}
