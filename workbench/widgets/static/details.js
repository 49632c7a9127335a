// The pane beside the picture: what the selected box is, what changed, and why.
import { h, shorten, number, plural } from "./dom.js";
import { SIGNS, WORDS, SAME } from "./fold.js";

const MOST = 12;

// view: {scene, facts, select(id), toggle(id), neighbours(leaf)}
export function describe(view, id) {
  if (id < 0) return summary(view);
  return id < view.scene.trees ? ofTree(view, id) : ofLeaf(view, id - view.scene.trees);
}

function summary({ facts }) {
  return [
    h("h3", {}, facts.one ? facts.labels[0] : `${facts.labels[0]} → ${facts.labels[1]}`),
    h("p", {}, facts.one ? plural(facts.counts[SAME], "node") : [2, 3, 1, 0].map((i) => `${SIGNS[i]} ${number(facts.counts[i])} ${WORDS[i]}`.trim()).join(", ")),
    h("p", { class: "wb-quiet" }, "Click a box to open it or to read about it, a frame's name to fold it. ",
      `Keys: ${facts.one ? "" : "n and p go from difference to difference, "}arrows along the edges, Enter opens and folds, / searches, `,
      "+ and − zoom, 0 shows all, Escape lets go. The wheel zooms once the picture has the focus."),
    ...changes(facts.changes, "Inputs, outputs, opsets, weights"),
  ];
}

function ofTree(view, id) {
  const { scene } = view;
  const open = view.laid.folded.children.has(id);
  const counts = WORDS.map((word, i) => [i, word]).filter(([i]) => scene.count(id, i));
  return [
    h("h3", {}, scene.label(id)),
    h("p", { class: "wb-code" }, scene.text("tree_path", id)),
    h("p", {}, view.facts.one ? plural(scene.count(id, SAME), "node") : counts.map(([i, word]) => `${SIGNS[i]} ${number(scene.count(id, i))} ${word}`.trim()).join(", ")),
    id ? h("button", { onclick: () => view.toggle(id) }, open ? "Fold" : "Unfold") : null,
  ];
}

function ofLeaf(view, leaf) {
  const { scene } = view;
  const told = scene.told(leaf);
  const status = scene.status[leaf];
  const name = scene.text("name", leaf);
  const { before, after } = view.neighbours(leaf);
  const word = view.facts.one ? "" : WORDS[status];
  return [
    h("h3", {}, `${SIGNS[status]} ${shorten(told.op)}`.trim()),
    h("p", {}, h("code", { title: shorten(name, 400) }, shorten(name, 120))),
    h("p", { class: "wb-quiet" }, word, told.scope ? [word ? " in " : "in ", h("code", {}, shorten(told.scope, 120))] : "",
      told.graph ? ` (${shorten(told.graph)})` : "", told.was ? [", was ", h("code", {}, shorten(told.was, 120))] : ""),
    ...story(view, leaf, told),
    ...changes(told.changes, "Changed"),
    ...section("Makes", told.outputs.map((value, i) => item(h("code", {}, shorten(value, 80)), (told.types[i] ?? "?") !== "?" ? ` ${shorten(told.types[i], 80)}` : ""))),
    ...section("Reads", told.inputs.map((value) => item(h("code", {}, shorten(value, 80) || "nothing")))),
    ...section("Attributes", told.attributes.map(([key, value]) => item(`${shorten(key)} = `, h("code", { title: shorten(value, 400) }, shorten(value, 120))))),
    ...links(view, "Reads from", before),
    ...links(view, "Read by", after),
  ];
}

function story(view, leaf, told) {
  const { scene } = view;
  const at = scene.group[leaf];
  if (at < 0) return told.rules ? [h("p", {}, `Made by ${told.rules.map((rule) => shorten(rule)).join(", ")}`)] : [];
  const { rule, before, after } = JSON.parse(scene.text("groups", at));
  const nodes = (n) => `${n} node${n === 1 ? "" : "s"}`;
  const words = after.length ? `${shorten(rule)} made ${after.length === 1 ? "this" : "these"} from ${nodes(before.length)}` : `${shorten(rule)} took away ${nodes(before.length)}`;
  return [h("h3", {}, "Story"), h("p", {}, words), ...links(view, "", [...after, ...before])];
}

function changes(list, title) {
  return section(title, (list ?? []).map(([what, where, before, after]) => item(
    `${what} `, h("code", {}, shorten(where)), ": ", h("del", {}, shorten(before || "none", 120)), " → ", h("ins", {}, shorten(after || "none", 120)))));
}

function links(view, title, leaves) {
  const { scene } = view;
  return section(title, leaves.map((leaf) => item(h("button", { class: "wb-link", onclick: () => view.select(leaf + scene.trees) },
    `${SIGNS[scene.status[leaf]]} ${scene.text("op", leaf)}`.trim()), " ", h("span", { class: "wb-quiet" }, shorten(scene.text("name", leaf), 48)))));
}

function item(...content) {
  return h("li", {}, ...content);
}

function section(title, items) {
  if (!items.length) return [];
  const more = items.length - MOST;
  const rest = more > 0 ? h("li", { class: "wb-quiet" }, `and ${number(more)} more`) : null;
  return [title ? h("h3", {}, title) : null, h("ul", {}, items.slice(0, MOST), rest)];
}

// The same differences, or the nodes of one graph, as a table, for those who do not look at pictures.
export function twin(view) {
  const body = h("tbody");
  const more = h("button", { onclick: () => fill() });
  let shown = 0;
  const fill = () => {
    for (const leaf of view.stops.slice(shown, (shown += 200))) body.append(row(view, leaf));
    more.hidden = shown >= view.stops.length;
    more.textContent = `200 more of ${number(view.stops.length)}`;
  };
  const { one } = view.facts;
  const head = h("tr", {}, (one ? ["Operator", "Node", "Module"] : ["Status", "Operator", "Node", "Why"]).map((text) => h("th", { scope: "col" }, text)));
  const table = h("div", { class: "wb-scroll", tabindex: "0", role: "region", "aria-label": one ? "Nodes" : "Differences" }, h("table", {}, h("thead", {}, head), body), more);
  const words = view.stops.length ? `${one ? "Nodes" : "Differences"} as a table (${number(view.stops.length)})` : one ? "No nodes" : "No differences";
  return h("details", { ontoggle: () => shown || fill() }, h("summary", {}, words), view.stops.length ? table : null);
}

function row(view, leaf) {
  const { scene } = view;
  const status = scene.status[leaf];
  const group = scene.group[leaf];
  const name = shorten(scene.text("name", leaf), 60);
  const link = h("button", { class: "wb-link", onclick: () => view.select(leaf + scene.trees, true) }, name || "unnamed");
  if (view.facts.one) return h("tr", {}, [scene.text("op", leaf), link, shorten(scene.text("scope", leaf))].map((cell) => h("td", {}, cell)));
  const why = group >= 0 ? scene.text("rules", group) : (scene.told(leaf).changes ?? []).map(([what, where]) => `${what} ${where}`).join(", ");
  return h("tr", {}, [`${SIGNS[status]} ${WORDS[status]}`, scene.text("op", leaf), link, shorten(why)].map((cell) => h("td", {}, cell)));
}

