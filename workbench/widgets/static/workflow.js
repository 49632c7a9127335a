// A workflow: nested steps and lanes of state on the left, what is behind the chosen one on the right.
import { h, listeners, number, plural, shorten, status, tell, OWN_KEYS } from "./dom.js";
import { unpack } from "./pack.js";
import { faultBadge, flowRow, isFrame, laneSpans, legend, linksOf, visibleNodes, wraps } from "./workflow_rows.js";
import { aliasTable, faultList, laneDetails, nodeDetails } from "./workflow_details.js";
import { runBar } from "./workflow_run.js";
import { wiresLegend, wiresOf } from "./workflow_wires.js";

const MOST_VALUES = 5;
const FEW_LANES = 5;

function workflowRender({ model, el }) {
  const life = listeners(model);
  const [facts, columns] = [{}, {}];
  // A run that goes on brings new ones, into the same two objects.
  const take = () => { Object.assign(facts, model.get("_facts")); Object.assign(columns, unpack(model.get("_header"), model.get("_blob"))); };
  take();
  life.on("_facts", take);
  const said = status();
  const grid = h("div", { role: "treegrid", class: "wb-flow-grid", "aria-label": "Steps of the workflow and the state they use", ...OWN_KEYS });
  const aside = h("div", { class: "wb-flow-details", role: "group", "aria-label": "Details of what is chosen", tabindex: "-1" });
  const below = h("div", { class: "wb-flow-below" });
  const byPath = new Map(facts.nodes.map((node) => [node.path, node]).reverse());
  let lane = -1;
  let fault = -1;
  let reached = 0; // the index of the row that the keys are at
  let pointed = -1; // and of the one below the pointer

  const context = {
    facts, columns, values: (node) => valueWords(node), opens: new Set(facts.opens),
    get folded() { return new Set(model.get("folded")); },
    get breaks() { return new Set(model.get("breakpoints")); },
    get chosen() { return model.get("node"); },
    get now() { return run.node(); },
    choose(path) { lane = -1; unfoldTo(byPath.get(path)); tell(model, "node", path); focusRow(byPath.get(path)?.index ?? 0); },
    chooseLane(index) { lane = index; tell(model, "node", ""); drawDetails(); aside.focus(); },
    openGraph(component) { model.send({ do: "graph", component }); said.textContent = `The graph of ${component} opens below.`; goToGraph(component); },
    valueStop: (name) => run.valueStop(name),
  };
  const wires = wiresOf({ grid, facts, columns, rowOf: (index) => rowOf(index),
    active: () => (pointed >= 0 ? pointed : grid.contains(document.activeElement) ? reached : byPath.get(context.chosen)?.index ?? -1) });
  const run = runBar({ model, facts, columns, life, moved: (index) => moved(index) });

  function valueWords(node) {
    const side = (runs) => {
      const words = [...new Set(runs.map(([, , , , said]) => said))]; // a value that many ports read is named once
      return words.slice(0, MOST_VALUES).concat(words.length > MOST_VALUES ? [`${words.length - MOST_VALUES} more`] : []).join(", ") || "nothing";
    };
    return `${side(node.reads)} → ${side(node.writes)}`;
  }

  // The graph is a widget of its own, and may open below the edge of the screen: who asked for it is taken there.
  function goToGraph(component, tries = 100) {
    const graph = root.closest(".widget-vbox")?.querySelector(`.wb-graph[aria-label^="Graph ${CSS.escape(component)}: "]`);
    if (graph) graph.scrollIntoView({ block: "nearest" });
    else if (tries && root.isConnected) setTimeout(goToGraph, 100, component, tries - 1);
  }

  function unfoldTo(node) {
    const open = new Set(model.get("folded"));
    for (let at = facts.nodes[node?.parent]; at; at = facts.nodes[at.parent]) open.delete(at.path);
    if (open.size !== model.get("folded").length) tell(model, "folded", [...open]);
  }

  // --- drawing --------------------------------------------------------------------------------------------------
  function draw() {
    const had = grid.contains(document.activeElement);
    const folded = context.folded;
    const shown = visibleNodes(facts.nodes, folded);
    const spans = laneSpans(facts, shown, folded);
    const { links, far, flows, width } = wires.take(shown);
    const once = { ...context, folded, breaks: context.breaks, chosen: context.chosen, now: context.now, values: valueWords, far, flows,
      links: linksOf(links, byPath.get(context.chosen)) };
    root.style.setProperty("--wb-wires", `${width}px`);
    grid.replaceChildren(header(), wires.element, ...shown.map((node, i) => flowRow(once, node, shown[i + 1], spans)));
    if (!shown.some((node) => node.index === reached)) reached = shown.findLast((node) => node.index < reached)?.index ?? 0;
    const row = rowOf(reached);
    if (row) row.tabIndex = 0;
    if (had) row?.focus({ preventScroll: true });
    wires.place();
  }

  function header() {
    const names = facts.lanes.map((one, i) => h("div", { role: "columnheader", class: "wb-lane-head" },
      h("button", { type: "button", title: one.note, "aria-pressed": String(lane === i), "aria-label": `${one.name}, ${one.note}`, onclick: () => context.chooseLane(i) },
        h("span", {}, wraps(shorten(one.name, 40))), one.count > 1 || one.group ? h("span", { class: "wb-quiet" }, `${number(one.count)} cells`) : null,
        one.faults.length ? faultBadge(facts, one.faults) : null)));
    return h("div", { role: "row", class: "wb-flow-row wb-flow-header" }, h("div", { role: "columnheader", class: "wb-flow-cell" }, "Step"), names);
  }

  function drawDetails() {
    const node = byPath.get(context.chosen);
    const moment = run.parts(node);
    const parts = lane >= 0 ? laneDetails(context, lane) : node ? nodeDetails(context, node) : overview();
    aside.replaceChildren(...moment, ...parts);
    for (const button of grid.querySelectorAll(".wb-lane-head button")) button.setAttribute("aria-pressed", "false");
    if (lane >= 0) grid.querySelectorAll(".wb-lane-head button")[lane].setAttribute("aria-pressed", "true");
  }

  function overview() {
    const own = facts.faults.map((_, i) => i);
    return [h("p", { class: "wb-quiet" }, "Choose a step, or the name of a lane, to see what is behind it."), ...faultList(facts, own)];
  }

  // --- moving ---------------------------------------------------------------------------------------------------
  const rowOf = (index) => grid.querySelector(`[data-index="${index}"]`);

  function focusRow(index, quiet) {
    const row = rowOf(index);
    if (!row) return;
    for (const other of grid.querySelectorAll('.wb-flow-row[tabindex="0"]')) other.tabIndex = -1;
    reached = index;
    row.tabIndex = 0;
    if (!quiet) row.focus({ preventScroll: true });
    keepInView(row);
  }

  // Within the grid alone: scrollIntoView would move the notebook as well.
  function keepInView(row) {
    const box = scroll.getBoundingClientRect();
    const own = row.getBoundingClientRect();
    const top = box.top + grid.firstElementChild.offsetHeight;
    if (own.top < top) scroll.scrollTop -= top - own.top;
    else if (own.bottom > box.bottom) scroll.scrollTop += own.bottom - box.bottom + 4;
  }

  function fold(node, wanted) {
    const folded = new Set(model.get("folded"));
    if (!isFrame(node) || folded.has(node.path) === wanted) return false;
    folded[wanted ? "add" : "delete"](node.path);
    tell(model, "folded", [...folded]);
    return true;
  }

  function choose(node) {
    lane = -1;
    tell(model, "node", context.chosen === node.path ? "" : node.path);
    drawDetails();
  }

  // Steps with findings in their order, then lanes.
  function nextFault() {
    const faulty = [...facts.nodes.filter((node) => node.faults.length).map((node) => () => context.choose(node.path)),
      ...facts.lanes.flatMap((one, i) => (one.faults.length ? [() => context.chooseLane(i)] : []))];
    if (!faulty.length) said.textContent = "Nothing is wrong.";
    else faulty[++fault % faulty.length]();
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button")) return;
    const rows = [...grid.querySelectorAll("[data-index]")].map((row) => Number(row.dataset.index));
    const at = rows.indexOf(reached);
    const node = facts.nodes[reached];
    const go = (i) => focusRow(rows[Math.min(Math.max(i, 0), rows.length - 1)]);
    const acts = {
      ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), Home: () => go(0), End: () => go(rows.length - 1),
      PageDown: () => go(at + 8), PageUp: () => go(at - 8),
      ArrowRight: () => fold(node, false) || (isFrame(node) && go(at + 1)),
      ArrowLeft: () => fold(node, true) || (node.parent >= 0 && focusRow(node.parent)),
      Enter: () => choose(node), " ": () => choose(node), Escape: () => { lane = -1; tell(model, "node", ""); drawDetails(); },
      n: nextFault, b: () => run.stopAt(node.path), "]": () => run.move(1), "[": () => run.move(-1),
    };
    if (!(event.key in acts)) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }

  function click(event) {
    const row = event.target.closest("[data-index]");
    if (!row) return;
    const node = facts.nodes[Number(row.dataset.index)];
    reached = node.index;
    if (event.target.closest(".wb-flow-twist")) fold(node, !context.folded.has(node.path));
    else choose(node);
    focusRow(node.index);
  }

  function moved(index) {
    const node = facts.nodes[index];
    unfoldTo(node);
    draw();
    drawDetails();
    focusRow(index, true);
    said.textContent = run.said();
  }

  // --- the whole --------------------------------------------------------------------------------------------------
  const find = h("input", { type: "search", placeholder: "Find a step or a value", "aria-label": "Find a step or a value", ...OWN_KEYS });
  life.add(find, "keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); look(find.value.trim().toLowerCase()); } });
  function look(word) {
    if (!word) return;
    const hits = facts.nodes.filter((node) => `${node.title} ${node.note} ${valueWords(node)} ${valueNames(node)}`.toLowerCase().includes(word));
    const next = hits.find((node) => node.index > reached) || hits[0];
    if (next) context.choose(next.path);
    said.textContent = next ? `${plural(hits.length, "step")} with ${word}: ${next.title}` : `No step has ${word}.`;
    find.focus();
  }
  const valueNames = (node) => [...node.reads, ...node.writes].flatMap(([start, count]) =>
    Array.from({ length: count }, (_, i) => `${columns.port.get(start + i)} ${columns.value.get(start + i)}`)).join(" ");
  const foldAll = (wanted) => tell(model, "folded", wanted ? facts.nodes.filter((node) => isFrame(node) && node.parent >= 0).map((node) => node.path) : []);
  const bar = h("div", { class: "wb-bar" }, find,
    h("button", { type: "button", onclick: () => foldAll(true) }, "Fold all"), h("button", { type: "button", onclick: () => foldAll(false) }, "Unfold all"),
    facts.faults.length ? h("button", { type: "button", onclick: nextFault }, "Next finding") : null);
  const scroll = h("div", { class: "wb-flow-scroll" }, grid);
  const many = facts.lanes.length > FEW_LANES;
  grid.classList.toggle("wb-many", many); // their names stand upright
  if (facts.aliases.length) below.append(h("h3", {}, "Caches by layer"), ...facts.aliases.map((table) => aliasTable(context, table)));
  const root = h("div", { class: "wb-view wb-flow", role: "group", "aria-label": facts.title }, bar, run.element, said,
    wiresLegend(), facts.lanes.length ? legend() : null, h("div", { class: "wb-flow-body" }, scroll, aside), below);

  root.style.setProperty("--wb-lanes", facts.lanes.length);
  root.style.setProperty("--wb-lane", many ? "36px" : "72px");
  life.add(grid, "keydown", key);
  life.add(grid, "click", click);
  life.add(grid, "focusin", (event) => { const row = event.target.closest("[data-index]"); if (row) reached = Number(row.dataset.index); wires.drawStrong(); });
  life.add(grid, "focusout", () => setTimeout(wires.drawStrong));
  const point = (row) => { const index = row ? Number(row.dataset.index) : -1; if (index !== pointed) { pointed = index; wires.drawStrong(); } };
  life.add(grid, "pointerover", (event) => point(event.target.closest("[data-index]")));
  life.add(grid, "pointerleave", () => point(null));
  const sizes = new ResizeObserver(wires.place); // also when it is shown for the first time
  sizes.observe(grid);
  life.later(() => sizes.disconnect());
  for (const trait of ["folded", "breakpoints"]) life.on(trait, draw);
  life.on("node", () => { if (context.chosen) lane = -1; unfoldTo(byPath.get(context.chosen)); draw(); drawDetails(); });
  draw();
  drawDetails();
  life.on("run_said", () => { said.textContent = run.said(); });
  said.textContent = run.said() || facts.said;
  el.append(root);
  return () => { life.close(); root.remove(); };
}

export default { render: workflowRender };
