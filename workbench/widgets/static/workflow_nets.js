// Where the lines between steps run: beside the rows, in tracks. Twin of workbench/viz/workflow/nets.py.
const SPAN = 6; // a line over more rows than this is a badge at both ends, as in pictures of graphs
const MOST_TRACKS = 6;

// Pairs of rows as nets: all that one row gives to others on one track, 0 next to the rows. Short ones get the nearest
// tracks. A line comes to the upper half of a row and leaves from the lower: it may begin where another ends.
export function netsOf(pairs) {
  const near = new Map();
  const far = [];
  for (const [source, target] of pairs) {
    if (Math.abs(target - source) > SPAN) far.push([source, target]);
    else near.set(source, [...(near.get(source) || []), target]);
  }
  const ends = new Map([...near].map(([source, targets]) => [source, [2 * source + 1, ...targets.map((target) => 2 * target)]]));
  const length = (source) => Math.max(...ends.get(source)) - Math.min(...ends.get(source));
  const taken = [];
  const nets = [];
  for (const source of [...near.keys()].sort((a, b) => length(a) - length(b) || a - b)) {
    const track = freeTrack(taken, Math.min(...ends.get(source)), Math.max(...ends.get(source)));
    if (track < 0) far.push(...near.get(source).map((target) => [source, target]));
    else nets.push({ source, targets: near.get(source), track });
  }
  return { nets, far: far.sort((a, b) => a[0] - b[0] || a[1] - b[1]), tracks: taken.length };
}

function freeTrack(taken, low, high) {
  for (let track = 0; track < MOST_TRACKS; track++) {
    taken[track] ??= [];
    if (taken[track].every(([begin, end]) => high < begin || end < low)) {
      taken[track].push([low, high]);
      return track;
    }
  }
  return -1;
}

// How many lines come to a row on tracks nearer to it: each has a height of its own.
export function rankOf(nets, net, target) {
  return nets.filter((other) => other.track < net.track && other.targets.includes(target)).length;
}

// Who gives what to whom among the rows that are seen; what is folded away is its frame's. `kept` is the state that
// a frame keeps for the steps in it: its lines are the lanes.
export function linksAmong(facts, columns, shown) {
  const seen = new Set(shown.map((node) => node.index));
  const rowOf = (index) => {
    while (index > 0 && !seen.has(index)) index = facts.nodes[index].parent;
    return index;
  };
  const links = new Map();
  for (const node of facts.nodes) {
    const target = rowOf(node.index);
    for (const run of node.reads) {
      const given = new Map();
      for (let at = run[0]; at < run[0] + run[1]; at++) {
        const source = rowOf(columns.maker[at]);
        if (source <= 0 || target <= 0 || source === target) continue;
        if (!given.has(source)) given.set(source, []);
        given.get(source).push(at);
      }
      for (const [source, ports] of given) addLink(links, source, target, ports, run, columns);
    }
  }
  return [...links.values()];
}

// Of a run of many ports its pattern is named, and each value where there are few.
function addLink(links, source, target, ports, [, , , value, said], columns) {
  const key = `${source} ${target}`;
  if (!links.has(key)) links.set(key, { source, target, names: new Set(), kept: true });
  const link = links.get(key);
  if (ports.length <= 2) ports.forEach((at) => link.names.add(columns.value.get(at)));
  else link.names.add(said.startsWith(`${value} ×`) ? `${value} ×${ports.length}` : said);
  link.kept &&= ports.every((at) => columns.kept[at]);
}
