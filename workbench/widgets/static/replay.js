// A recorded pipeline: the steps on the left, before and after the current one on the right.
import { h, listeners, number, OWN_KEYS, plural, shorten, status, tell } from "./dom.js";
import { unpack } from "./pack.js";
import { smallGraph, svg } from "./small_graph.js";
import { change, milliseconds, stepList, Steps } from "./replay_steps.js";

const MOST_DRAWN = 24; // nodes of a side that are drawn; of more there is a list
const MOST_LISTED = 200;

function render({ model, el }) {
  const facts = model.get("_facts");
  const steps = new Steps(facts, unpack(model.get("_header"), model.get("_blob")));
  const life = listeners(model);
  const said = status();
  const parts = { list: h("div", { class: "wb-replay-list" }), stage: h("div", { class: "wb-replay-step" }) };
  const slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "Step", class: "wb-slider", ...OWN_KEYS });
  const line = sparkline(steps.columns.count);
  const filter = ruleFilter(steps);
  let shown = steps.of("");

  const current = () => model.get("step");
  const go = (index) => tell(model, "step", Math.min(Math.max(index, 0), steps.length));
  const move = (by) => {
    const at = shown.findIndex((i) => i >= current());
    const to = (at < 0 ? shown.length - 1 : at) + by;
    if (shown[to] !== undefined) go(shown[to]);
  };
  const buttons = [["Previous", -1], ["Next", 1]].map(([text, by]) =>
    h("button", { type: "button", onclick: () => move(by) }, text));

  const show = () => {
    const index = current();
    const at = shown.indexOf(index);
    slider.max = shown.length - 1;
    slider.value = at < 0 ? 0 : at;
    slider.setAttribute("aria-valuetext", `step ${index} of ${steps.length}`);
    buttons[0].disabled = at <= 0;
    buttons[1].disabled = at >= shown.length - 1;
    line.mark(index);
    const kept = parts.list.contains(document.activeElement);
    parts.list.replaceChildren(stepList(steps, index, filter.value, go));
    const now = [...parts.list.querySelectorAll("[aria-current]")].pop();
    if (now) intoView(parts.list, now);
    if (now && kept) now.focus({ preventScroll: true });
    const step = index ? steps.get(index) : null;
    parts.stage.replaceChildren(...(step ? stepParts(step, model) : startParts(steps)));
    said.textContent = sentence(steps, step, shown, filter.value);
  };
  const narrow = () => {
    shown = steps.of(filter.value);
    if (!shown.includes(current()) && shown.length) go(shown[0]);
    show();
  };

  life.add(slider, "input", () => go(shown[Number(slider.value)]));
  life.add(filter, "change", () => { tell(model, "rule", filter.value); narrow(); });
  life.on("step", show);
  life.on("node", show);
  life.on("rule", () => {
    const rule = model.get("rule");
    if (rule === filter.value || ![...filter.options].some((option) => option.value === rule)) return;
    filter.value = rule;
    narrow();
  });
  const root = h("div", { class: "wb-view wb-replay", role: "group", "aria-label": `Pipeline of ${facts.title}` },
    h("div", { class: "wb-bar" }, buttons, slider, h("label", {}, "Rule ", filter)),
    said, line.element, h("div", { class: "wb-replay-body" }, parts.list, parts.stage));
  life.add(root, "keydown", (event) => {
    if (event.target.matches("select, input")) return;
    const to = { ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => go(shown[0]), End: () => go(shown[shown.length - 1]) };
    if (!(event.key in to) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    to[event.key]();
  });
  if (model.get("rule") && steps.of(model.get("rule")).length) filter.value = model.get("rule");
  narrow();
  el.append(root);
  return () => life.close();
}

// Within the list alone: scrollIntoView would move the notebook as well.
function intoView(list, item) {
  const [box, own] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (own.top < box.top + 60) list.scrollTop -= box.top + 60 - own.top;
  else if (own.bottom > box.bottom) list.scrollTop += own.bottom - box.bottom + 4;
}

function ruleFilter(steps) {
  const rules = [...new Set(steps.facts.rules.map(([, rule]) => rule))];
  return h("select", { "aria-label": "Only steps of this rule", ...OWN_KEYS }, h("option", { value: "" }, "all rules and passes"),
    rules.map((rule) => h("option", { value: rule }, rule)));
}

function sentence(steps, step, shown, rule) {
  if (!step) return `Start, before step 1 of ${number(steps.length)}: ${plural(steps.columns.count[0], "node")}`;
  const place = rule ? ` (${number(shown.indexOf(step.index) + 1)} of ${number(shown.length)} of ${rule})` : "";
  const nodes = plural(steps.columns.count[step.index], "node");
  const what = change(step.removed.length, step.added.length, step.rewired.size);
  return `Step ${number(step.index)} of ${number(steps.length)}${place}: ${step.rule}, ${what}, ${nodes}`;
}

// How many nodes there are after each step, with a mark at the current one.
function sparkline(counts) {
  const [width, height, edge] = [600, 44, 5];
  const [low, high] = [counts.reduce((a, b) => Math.min(a, b)), counts.reduce((a, b) => Math.max(a, b))];
  const last = Math.max(1, counts.length - 1);
  const x = (i) => edge + Math.round((i * (width - 2 * edge)) / last);
  const y = (i) => edge + Math.round(((high - counts[i]) * (height - 2 * edge)) / Math.max(1, high - low));
  const every = Math.max(1, Math.ceil(counts.length / 600));
  const at = Array.from(counts.keys()).filter((i) => i % every === 0 || i === counts.length - 1);
  const dot = svg("circle", { r: 4, class: "wb-spark-dot" });
  const label = `Nodes after each step: ${number(counts[0])} at the start, ${number(counts[counts.length - 1])} at the end`;
  const picture = svg("svg", { class: "wb-spark", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}`, width, height },
    svg("title", {}, label), svg("polyline", { points: at.map((i) => `${x(i)},${y(i)}`).join(" ") }), dot);
  const now = h("span", { class: "wb-quiet" });
  const mark = (i) => {
    dot.setAttribute("cx", x(i));
    dot.setAttribute("cy", y(i));
    now.textContent = `${plural(counts[i], "node")} (${number(low)} to ${number(high)})`;
  };
  return { element: h("div", { class: "wb-spark-line" }, picture, now), mark };
}

function startParts(steps) {
  const counts = steps.columns.count;
  const text = steps.length
    ? `The graph as it was given has ${plural(counts[0], "node")}. Next goes to the first of ${plural(steps.length, "step")}.`
    : "No step was recorded.";
  return [h("p", {}, text)];
}

function stepParts(step, model) {
  const where = step.anchor ? [" at ", h("code", {}, shorten(step.anchor, 120))] : [" over the whole graph"];
  const scope = step.scope && step.scope !== step.anchor ? `${step.scope} · ` : "";
  const place = step.line ? `${step.file}:${step.line}` : step.file;
  const head = [
    h("p", {}, h("strong", {}, `${step.stage}: ${step.rule}`), ...where),
    h("p", { class: "wb-quiet" }, `${scope}${milliseconds(step.seconds)}`, ...(place ? [" · ", h("code", {}, place)] : [])),
  ];
  if (!step.removed.length && !step.added.length) return [...head, h("p", {}, "It changed nothing.")];
  const sides = [["Before", "removed", step.removed], ["After", "added", step.added]].map(([title, mark, nodes]) =>
    side(title, mark, nodes, step, model));
  return [...head, h("div", { class: "wb-sides" }, sides), details(step, model)];
}

function side(title, mark, nodes, step, model) {
  const told = change(mark === "removed" ? nodes.length : 0, mark === "added" ? nodes.length : 0, step.rewired.size);
  const text = `${title}: ${nodes.length ? told : "nothing"}${step.rewired.size ? " renamed or rewired" : ""}`;
  const marked = nodes.map((node) => ({ ...node, mark: step.rewired.has(node.key) ? "changed" : mark }));
  marked.sort((a, b) => Number(a.mark === "changed") - Number(b.mark === "changed"));
  const pick = (node) => tell(model, "node", node.name);
  const body = nodes.length > MOST_DRAWN ? listed(marked, pick) : nodes.length ? drawn(marked, text, pick, model.get("node")) : "";
  const whole = h("div", { class: "wb-side" }, h("h3", {}, text), body);
  const wide = Number(whole.querySelector(".wb-small")?.getAttribute("width") || 0);
  whole.style.flexBasis = `${Math.max(wide, 280)}px`; // After goes below a Before that needs the room
  return whole;
}

// The nodes with their wiring, and the values that come from outside and go there: the same on both sides.
function drawn(nodes, label, pick, chosen) {
  const made = new Map(nodes.flatMap((node, i) => node.outputs.filter(Boolean).map((name) => [name, i])));
  const read = new Set(nodes.flatMap((node) => node.inputs.filter(Boolean)));
  const edges = nodes.flatMap((node, i) =>
    [...new Set(node.inputs)].filter((name) => made.has(name)).map((name) => [made.get(name), i, name]));
  const values = (title, names) => h("p", { class: "wb-quiet wb-values" }, title, names.length ? names.map((name) =>
    h("code", { title: name }, shorten(name, 48))) : "nothing");
  return [values("reads ", [...read].filter((name) => !made.has(name))), smallGraph(nodes, edges, { label, pick, chosen }),
    values("gives ", [...made.keys()].filter((name) => !read.has(name)))];
}

function listed(nodes, pick) {
  const signs = { removed: "−", added: "+", changed: "~" };
  const counts = new Map();
  for (const node of nodes) counts.set(node.op, (counts.get(node.op) || 0) + 1);
  const kinds = [...counts].sort((a, b) => b[1] - a[1]).map(([op, n]) => `${number(n)} ${op}`).join(", ");
  const rows = nodes.slice(0, MOST_LISTED).map((node) => h("li", {}, h("button", {
    type: "button", class: "wb-step", title: node.name, onclick: () => pick(node),
  }, `${signs[node.mark]} ${node.op} ${shorten(node.name, 70)}`)));
  const more = nodes.length - MOST_LISTED;
  return [h("p", {}, kinds), h("ul", { class: "wb-plain wb-scroll", tabindex: 0, "aria-label": "Nodes" }, rows,
    more > 0 ? h("li", { class: "wb-quiet" }, `and ${number(more)} more`) : null)];
}

function details(step, model) {
  const name = model.get("node");
  const node = name && [...step.added, ...step.removed].find((one) => one.name === name);
  if (!node) return h("p", { class: "wb-quiet" }, "Choose a node to see its inputs, outputs and attributes.");
  const row = (title, texts) => [h("dt", {}, title), h("dd", {}, texts.length ? texts.map((t) => h("code", {}, t || "absent")) : "none")];
  return h("dl", { class: "wb-node-details", "aria-label": "Chosen node" }, row("node", [node.name]), row("operator", [node.op]),
    row("scope", [node.scope]), row("inputs", node.inputs), row("outputs", node.outputs), row("attributes", node.attributes));
}

export default { render };
