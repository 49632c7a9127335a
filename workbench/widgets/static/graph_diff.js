// The graph diff to walk through: a canvas, a bar, a pane of details, a map, a table of the differences.
import { h, listeners, number, shorten, status, tell } from "./dom.js";
import { unpack } from "./pack.js";
import { sceneOf, GROUP, SIGNS, WORDS } from "./fold.js";
import { layout } from "./layout.js";
import { paint } from "./paint.js";
import { themeOf, followTheme } from "./theme.js";
import { newCamera } from "./camera.js";
import { minimapOf } from "./minimap.js";
import { describe, twin } from "./details.js";
import { bar, matches, stopsOf } from "./finder.js";
import { neighboursOf, trace, walk } from "./edges.js";
import { pointer } from "./pointer.js";

function render({ model, el }) {
  const undo = listeners(model);
  const view = new GraphDiff(model, el, undo);
  view.start();
  return () => undo.close();
}

class GraphDiff {
  constructor(model, el, undo) {
    const scene = sceneOf(unpack(model.get("_header"), model.get("_blob")));
    const filters = { rule: model.get("rule"), op: model.get("op"), statuses: new Set(), text: "" };
    Object.assign(this, { model, el, undo, scene, filters, facts: model.get("_facts"), selected: -1, dim: null, at: -1 });
    this.stops = this.facts.one ? [...scene.status.keys()] : stopsOf(scene);
    this.paths = new Map(scene.tree_path.all().map((path, i) => [path, i]));
    this.expanded = this.fromPaths(model.get("expanded"));
    this.camera = newCamera(() => this.repaint());
    this.neighbours = neighboursOf(scene);
  }

  start() {
    this.build();
    this.relayout();
    this.listen();
    this.applyFilters();
    this.show(describe(this, -1));
    this.fromTraits();
  }

  build() {
    const { undo } = this;
    this.canvas = h("canvas", { class: "wb-canvas", tabindex: "0", role: "application", "aria-roledescription": "graph", "aria-label": this.facts.title });
    this.ctx = this.canvas.getContext("2d", { alpha: false });
    this.map = minimapOf(this, undo);
    this.tip = h("div", { class: "wb-tip", hidden: true });
    this.paneNames = h("div", { class: "wb-panes", "aria-hidden": "true" }, this.facts.labels.map((label) => h("span", {}, h("b", {}, shorten(label)))));
    this.details = h("div", { class: "wb-details", role: "region", "aria-label": "Details", tabindex: "0" });
    this.line = status();
    this.bar = bar(this, {
      filter: () => this.applyFilters(), step: (by) => this.step(by), hit: (by) => this.nextHit(by), focus: () => this.canvas.focus(),
      rule: (rule) => tell(this.model, "rule", rule), mode: (name) => tell(this.model, "mode", name),
      zoom: (factor) => this.zoom(factor), fit: () => this.fit(true), unfold: (all) => this.unfold(all),
    });
    const stage = h("div", { class: "wb-stage" }, this.canvas, this.paneNames, this.map.canvas, this.tip);
    this.root = h("div", { class: "wb-view wb-graph", role: "group", "aria-label": this.facts.title, "data-lm-suppress-shortcuts": "true" },
      this.bar.element, h("div", { class: "wb-split" }, stage, this.details), this.line, twin(this));
    this.el.append(this.root);
  }

  listen() {
    const { undo, canvas } = this;
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(canvas);
    undo.later(() => sizes.disconnect());
    followTheme(undo, () => this.retheme());
    pointer(this, undo);
    undo.add(canvas, "keydown", (event) => this.key(event));
    undo.add(this.details, "keydown", (event) => event.key === "Escape" && canvas.focus());
    for (const name of ["node", "scope"]) undo.on(name, () => this.fromTraits());
    for (const name of ["rule", "op"]) undo.on(name, () => ((this.filters[name] = this.model.get(name)), this.applyFilters()));
    undo.on("mode", () => this.applyFilters());
    undo.on("expanded", () => {
      if (this.model.get("expanded") !== this.told) this.refold(this.fromPaths(this.model.get("expanded")));
    });
  }

  // --- what is seen
  relayout() {
    const laid = layout(this.scene, this.expanded);
    laid.boxes = [];
    laid.depth = new Map([[0, 0]]);
    for (const [frame, inside] of laid.folded.children) {
      for (const id of inside) {
        if (laid.folded.children.has(id)) laid.depth.set(id, laid.depth.get(frame) + 1);
        else laid.boxes.push(id);
      }
    }
    laid.reads = new Map();
    laid.read = new Map();
    laid.folded.edges.forEach(([a, b], i) => {
      if (!laid.far[i]) return;
      laid.reads.set(b, [...(laid.reads.get(b) ?? []), a]);
      laid.read.set(a, [...(laid.read.get(a) ?? []), b]);
    });
    this.laid = laid;
    this.map.forget();
    this.dimBoxes();
    this.traced = trace(this, this.selected);
  }

  size() {
    return [this.model.get("mode") === "panes" ? this.width / 2 : this.width, this.height];
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return; // hidden: painted when it is shown
    const first = !this.width;
    this.ratio = window.devicePixelRatio || 1;
    [this.width, this.height] = [clientWidth, clientHeight];
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.theme ??= themeOf(this.root);
    if (first) this.selected < 0 ? this.camera.top(this.size(), [this.laid.w[0], this.laid.h[0]]) : this.centre(false);
    this.repaintNow();
  }

  retheme() {
    if (!this.width) return;
    this.theme = themeOf(this.root);
    this.map.forget();
    this.repaintNow();
  }

  repaint() {
    if (this.due || !this.width) return;
    this.due = requestAnimationFrame(() => this.repaintNow());
  }

  repaintNow() {
    cancelAnimationFrame(this.due);
    this.due = 0;
    const { ctx, ratio, width, height, theme } = this;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = theme.page;
    ctx.fillRect(0, 0, width, height);
    const panes = this.model.get("mode") === "panes";
    const half = Math.floor(width / 2);
    if (panes) {
      paint(ctx, this, { x: 0, width: half, height, side: "left" });
      paint(ctx, this, { x: half, width: width - half, height, side: "right" });
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.fillStyle = theme.frameEdge;
      ctx.fillRect(half - 1, 0, 2, height);
    } else paint(ctx, this, { x: 0, width, height, side: "both" });
    this.paneNames.hidden = !panes;
    this.map.follow();
    this.map.canvas.hidden = !this.scene.leaves;
    if (!this.scene.leaves) this.saidEmpty();
  }

  saidEmpty() {
    const { ctx, ratio, theme } = this;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.font = `14px ${theme.font}`;
    ctx.fillStyle = theme.quiet;
    const words = this.facts.one ? "The graph has no node." : "Neither graph has a node.";
    ctx.fillText(words, 24, 40);
    this.say(words);
  }

  // --- folding
  fromPaths(paths) {
    if (paths.includes("*")) return new Set(this.scene.kind.keys());
    return new Set([0, ...paths.map((path) => this.paths.get(path)).filter((id) => id !== undefined)]);
  }

  tellExpanded() {
    this.told = this.expanded.size === this.scene.trees ? ["*"] : [...this.expanded].map((id) => this.scene.text("tree_path", id));
    tell(this.model, "expanded", this.told);
  }

  // Fold anew; what `anchor` shows stays where it is on the screen.
  refold(expanded, anchor = -1) {
    const before = anchor >= 0 && [this.laid.x[anchor], this.laid.y[anchor]];
    this.expanded = expanded;
    this.relayout();
    if (!this.width) return;
    if (before && this.laid.w[anchor] >= 0) {
      const { k, tx, ty } = this.camera;
      this.camera.go({ k, tx: tx + (before[0] - this.laid.x[anchor]) * k, ty: ty + (before[1] - this.laid.y[anchor]) * k }, false);
    } else this.repaint();
  }

  toggle(id) {
    if (id >= this.scene.trees || id <= 0) return;
    const expanded = new Set(this.expanded);
    const opened = !expanded.delete(id);
    if (opened) expanded.add(id);
    this.refold(expanded, id);
    setTimeout(() => this.tellExpanded());
    this.select(id, false, true);
    this.say(`${opened ? "Unfolded" : "Folded"} ${this.scene.label(id)}, ${this.scene.note(id)}`);
  }

  unfold(all) {
    this.refold(all ? new Set(this.scene.kind.keys()) : this.fromPaths(this.facts.expanded));
    this.tellExpanded();
    if (this.width) this.camera.top(this.size(), [this.laid.w[0], this.laid.h[0]]);
    this.say(`${number(this.laid.boxes.length)} boxes`);
  }

  reveal(id) {
    const hidden = [];
    for (let at = this.scene.parent[id]; at > 0; at = this.scene.parent[at]) if (!this.expanded.has(at)) hidden.push(at);
    if (!hidden.length) return;
    this.refold(new Set([...this.expanded, ...hidden]));
    this.tellExpanded();
  }

  // --- selection
  select(id, focus = false, stay = false) {
    const { scene, model } = this;
    this.selected = id;
    if (id >= 0) this.reveal(id);
    this.traced = trace(this, id);
    this.show(describe(this, id));
    const leaf = id - scene.trees;
    this.telling = true;
    tell(model, "node", leaf >= 0 ? scene.text("name", leaf) : "");
    tell(model, "scope", id <= 0 ? "" : leaf >= 0 ? scene.text("scope", leaf) : scene.text("tree_scope", id));
    this.telling = false;
    if (focus) this.canvas.focus({ preventScroll: true });
    if (!stay && id >= 0) this.centre();
    this.repaint();
    const word = this.facts.one ? "" : ` ${WORDS[scene.status[leaf]]},`;
    if (leaf >= 0) this.say(`${SIGNS[scene.status[leaf]]} ${scene.text("op", leaf)},${word} ${shorten(scene.text("name", leaf))}`);
    else if (id >= 0) this.say(`${scene.label(id)}, ${scene.note(id)}`);
  }

  fromTraits() {
    if (this.telling) return;
    const [node, scope] = [this.model.get("node"), this.model.get("scope")];
    const { scene } = this;
    if (node) {
      this.byName ??= new Map(scene.name.all().map((name, i) => [name, i]).reverse());
      const leaf = this.byName.get(node);
      if (leaf !== undefined) return this.select(leaf + scene.trees);
      return this.say(`There is no node ${shorten(node)} ${this.here()}.`);
    }
    if (!scope) return this.selected >= 0 ? this.select(-1) : null;
    const tree = this.scopeTree(scope);
    return tree > 0 ? this.select(tree) : this.say(`There is no scope ${shorten(scope)} ${this.here()}.`);
  }

  here() {
    return this.facts.one ? "in this graph" : "in this diff";
  }

  scopeTree(scope) {
    const trees = [...this.scene.tree_scope.all().keys()].filter((i) => this.scene.text("tree_scope", i) === scope);
    if (trees.length) return trees[0];
    const leaf = this.scene.scope.all().findIndex((text) => text === scope || text.startsWith(`${scope}.`));
    return leaf < 0 ? -1 : leaf + this.scene.trees;
  }

  // Where the selected box is; where a rule made it, all that the rule did if that can be read.
  centre(smooth = true) {
    const { x, y, w, h: high, folded } = this.laid;
    const { selected, scene } = this;
    if (!this.width || w[selected] < 0) return;
    const [width, height] = this.size();
    const near = Math.max(this.camera.k, 0.75);
    const around = scene.parent[selected];
    const fits = 0.94 * Math.min(width / w[around], height / high[around]);
    const whole = scene.kind[around] === GROUP && fits > 0.4;
    const [id, k] = whole ? [around, Math.min(near, fits)] : [selected, near];
    const down = folded.children.has(id) ? Math.min(high[id], (height * 0.94) / k) : high[id];
    this.camera.centre([width, height], x[id] + w[id] / 2, y[id] + down / 2, k, smooth);
  }

  step(by) {
    if (!this.stops.length) return this.say("There is no difference.");
    this.at = (this.at + by + this.stops.length + (this.at < 0 && by < 0 ? 1 : 0)) % this.stops.length;
    this.select(this.stops[this.at] + this.scene.trees);
    this.say(`Difference ${number(this.at + 1)} of ${number(this.stops.length)}: ${this.line.textContent}`);
  }

  nextHit(by) {
    if (!this.hits?.length) return;
    this.hitAt = ((this.hitAt ?? -1) + by + this.hits.length) % this.hits.length;
    this.select(this.hits[this.hitAt] + this.scene.trees);
    this.say(`${number(this.hitAt + 1)} of ${number(this.hits.length)}: ${this.line.textContent}`);
  }

  applyFilters() {
    this.hits = matches(this.scene, this.filters);
    this.hitAt = undefined;
    this.dimBoxes();
    this.bar.sync(this.model.get("mode"), this.hits);
    if (this.hits) this.say(this.hits.length ? `${number(this.hits.length)} nodes match` : "No node matches: change the search or the filters.");
    this.repaint();
  }

  dimBoxes() {
    this.dim = this.hits ? new Set(this.hits.map((leaf) => this.laid.folded.boxOf[leaf])) : null;
  }

  // --- words
  show(content) {
    this.details.replaceChildren(...content.filter(Boolean));
    this.details.scrollTop = 0;
  }

  say(text) {
    this.line.textContent = text.trim();
  }

  // --- keys
  fit(smooth) {
    if (this.width) this.camera.fit(this.size(), [this.laid.w[0], this.laid.h[0]], smooth);
  }

  zoom(factor) {
    const [width, height] = this.size();
    this.camera.zoom(factor, width / 2, height / 2);
  }

  key(event) {
    const { selected } = this;
    const does = {
      ...(this.facts.one ? {} : { n: () => this.step(1), p: () => this.step(-1) }), "/": () => this.bar.search.focus(), 0: () => this.fit(true),
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8),
      Enter: () => (selected >= this.scene.trees ? this.details.focus() : this.toggle(selected)),
      Backspace: () => selected > 0 && this.toggle(this.scene.parent[selected]),
      Escape: () => this.select(-1),
    }[event.key];
    const arrow = event.key.startsWith("Arrow") && !event.ctrlKey && !event.metaKey;
    if (!(does || arrow) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (does) does();
    else if (event.shiftKey) this.camera.move(...{ ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] }[event.key]);
    else {
      const next = walk(this, selected, event.key);
      if (next >= 0) this.select(next);
    }
  }
}

export default { render };
