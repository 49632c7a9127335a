// Which boxes are seen when some tree nodes are unfolded, and the edges between them.
// Twin of workbench/viz/graph/fold.py: the same numbers in the same order.
export const [SAME, CHANGED, REMOVED, ADDED] = [0, 1, 2, 3];
export const SIGNS = ["", "~", "−", "+"];
export const WORDS = ["same", "changed", "removed", "added"];
export const [SCOPE, RUN, BODY, GROUP] = [0, 1, 2, 3];
export const [BOTH, FIRST, SECOND] = [1, 2, 4];

// The columns of a graph diff with what is asked of them again and again.
export function sceneOf(columns) {
  const s = { ...columns };
  s.trees = s.kind.length;
  s.leaves = s.status.length;
  s.known = new Map();
  s.text = (column, i) => {
    const key = column + i;
    if (!s.known.has(key)) s.known.set(key, s[column].get(i));
    return s.known.get(key);
  };
  s.label = (id) => (id < s.trees ? s.text("tree_label", id) : s.text("op", id - s.trees));
  s.note = (id) => (id < s.trees ? s.text("tree_note", id) : s.text("mark", id - s.trees));
  s.named = (id) => (id < s.trees ? s.text("tree_label", id) : s.text("name", id - s.trees));
  s.count = (tree, status) => s.counts[4 * tree + status];
  s.statusOf = (id) => (id < s.trees ? treeStatus(s, id) : s.status[id - s.trees]);
  s.told = (leaf) => JSON.parse(s.text("details", leaf));
  return s;
}

function treeStatus(s, id) {
  const [same, changed, removed, added] = s.counts.subarray(4 * id, 4 * id + 4);
  return same || changed || (removed && added) ? SAME : added ? ADDED : REMOVED;
}

export function fold(scene, expanded) {
  const { trees, parent, first } = scene;
  const children = new Map();
  const shown = new Int32Array(parent.length);
  for (let i = 0; i < parent.length; i++) {
    const above = parent[i];
    if (above < 0 || children.has(above)) {
      shown[i] = i;
      if (i < trees && (above < 0 || expanded.has(i))) children.set(i, []);
    } else shown[i] = shown[above];
  }
  for (let i = 0; i < parent.length; i++) if (children.has(parent[i])) children.get(parent[i]).push(i);
  for (const inside of children.values()) inside.sort((a, b) => first[a] - first[b]);
  const boxOf = shown.subarray(trees);
  return { children, boxOf, edges: edgesBetween(scene, boxOf) };
}

// Each pair of boxes once, in the order of the values: [from, to, sides].
function edgesBetween(scene, boxOf) {
  const known = new Map();
  const edges = [];
  const { source, target, side } = scene;
  const ids = scene.parent.length;
  for (let i = 0; i < source.length; i++) {
    const a = boxOf[source[i]];
    const b = boxOf[target[i]];
    if (a === b) continue;
    const key = a * ids + b;
    const edge = known.get(key);
    if (edge) edge[2] |= 1 << side[i];
    else {
      const made = [a, b, 1 << side[i]];
      known.set(key, made);
      edges.push(made);
    }
  }
  return edges;
}
