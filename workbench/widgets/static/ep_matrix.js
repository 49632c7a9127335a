// Execution providers by parts of a model: a strip of lettered marks says which rule changed what.
import { h, listeners, number, shorten, tell } from "./dom.js";
import { gridKeys, keepFocus } from "./grid.js";

const MATRIX_CELL = "[role=gridcell], [role=columnheader] button";

// Columns as they are shown: an open run stands as its layers.
function matrixColumns(places, open) {
  return places.flatMap((place, at) => {
    if (!open.has(place.name)) return [{ at, name: place.name, scope: place.scope, where: place.where, run: place.layers.length > 1 ? place : null }];
    const stem = place.name.slice(0, place.name.lastIndexOf("."));
    return place.layers.map((layer, i) => ({
      at, name: `${stem}.${layer}`, scope: place.stack ? `${place.stack}.${layer}` : String(layer),
      where: `in ${stem}.${layer}`, run: i === 0 ? place : null, inside: place,
    }));
  });
}

function matrixChip(rule) {
  return h("span", { class: `wb-mark wb-kind-${rule.kind}`, "aria-hidden": "true" }, rule.letter);
}

function matrixRender({ model, el }) {
  const listen = listeners(model);
  const { execution_providers: names, places, cells, rules } = model.get("_facts");
  const byRule = new Map(rules.map((rule) => [rule.rule, rule]));
  const open = new Set();
  let columns = [];
  const bar = h("div", { class: "wb-bar", role: "group", "aria-label": "Show one rule" });
  const table = h("table", { class: "wb-matrix-table", role: "grid", "aria-label": "Rules by execution provider and part of the model" });
  const details = h("div", { class: "wb-matrix-details", role: "status", "aria-live": "polite" });
  const scroll = h("div", { class: "wb-scroll" }, table);
  const root = h("div", { class: "wb-view wb-matrix", role: "group", "aria-label": "Execution providers by part of the model" }, bar, scroll, details);
  const settle = gridKeys(listen, table, MATRIX_CELL, (target) => target.tagName === "BUTTON" ? target.click() : choose(target));

  const wanted = (mark) => !model.get("rule") || mark.rule === model.get("rule") || mark.rule.split(" ").includes(model.get("rule"));
  const cellAt = (target) => ({ name: names[Number(target.dataset.row)], column: columns[Number(target.dataset.column)],
    cell: cells[Number(target.dataset.row)][columns[Number(target.dataset.column)].at] });

  function sentences({ cell, column }) {
    if (!cell.marks.length) return [cell.after ? `As in the generic graph, ${column.where}` : `No nodes ${column.where}`];
    return cell.marks.filter(wanted).map((mark) => `${mark.sentence}, ${column.where}`);
  }

  function size(cell) {
    if (!cell.before && !cell.after) return "none";
    return cell.marks.length ? `${number(cell.before)} → ${number(cell.after)}` : `${number(cell.after)} as before`;
  }

  function choose(target) {
    const { name, column } = cellAt(target);
    const again = model.get("execution_provider") === name && model.get("place") === column.name;
    model.set("execution_provider", again ? "" : name);
    model.set("scope", again ? "" : column.scope);
    model.set("place", again ? "" : column.name);
    model.save_changes();
  }

  function drawCell(y, x) {
    const cell = cells[y][columns[x].at];
    const marks = cell.marks.filter(wanted);
    const said = sentences({ cell, column: columns[x] });
    const label = `${names[y]}, ${columns[x].name}: ${size(cell)} nodes. ${said.join(". ")}`;
    return h("td", { role: "gridcell", tabindex: "-1", "data-row": y, "data-column": x, "data-key": `${names[y]}/${columns[x].name}`,
      "aria-label": label, title: said.join("\n") },
    marks.length ? h("div", { class: "wb-strip" }, marks.map((mark) => matrixChip(byRule.get(mark.rule)))) : null,
    h("div", { class: "wb-quiet wb-matrix-size" }, size(cell)));
  }

  function drawHead(column) {
    if (!column.run) return h("th", { scope: "col", role: "columnheader", title: column.scope || undefined }, shorten(column.name, 28));
    const closed = !open.has(column.run.name);
    const text = closed ? `▸ ${shorten(column.name, 28)}` : `▾ ${shorten(column.name, 28)}`;
    const label = closed ? `${column.name}: open ${column.run.layers.length} layers` : `${column.name}: fold ${column.run.name} again`;
    return h("th", { scope: "col", role: "columnheader" }, h("button", { type: "button", tabindex: "-1", "aria-expanded": String(!closed),
      "aria-label": label, title: label, "data-key": `run/${column.run.name}`,
      onclick: () => { open[closed ? "add" : "delete"](column.run.name); draw(); } }, text));
  }

  function draw() {
    columns = matrixColumns(places, open);
    keepFocus(table, MATRIX_CELL, () => table.replaceChildren(
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "col", role: "columnheader" }, "Execution provider"), columns.map(drawHead))),
      h("tbody", { role: "rowgroup" }, names.map((name, y) => h("tr", { role: "row" },
        h("th", { scope: "row", role: "rowheader" }, shorten(name, 28)), columns.map((_, x) => drawCell(y, x)))))));
    settle();
    mark();
  }

  function mark() {
    const name = model.get("execution_provider"), place = model.get("place");
    let chosen = null;
    for (const target of table.querySelectorAll("[role=gridcell]")) {
      const here = cellAt(target);
      const on = here.name === name && here.column.name === place;
      target.setAttribute("aria-selected", String(on));
      if (on) chosen = here;
    }
    explain(chosen);
  }

  function explain(here) {
    if (!here) {
      details.replaceChildren(h("p", { class: "wb-quiet" }, names.length && places.length
        ? "Choose a cell to read what happened there; the letters are explained above. Numbers are nodes before → after, of each layer."
        : "No execution provider to compare, or graphs without nodes."));
      return;
    }
    const each = here.column.run && !here.column.inside ? " in each layer" : "";
    const said = sentences(here);
    details.replaceChildren(h("h3", {}, `${shorten(here.name)}, ${shorten(here.column.name)}: ${size(here.cell)} nodes${here.cell.marks.length ? each : ""}`),
      h("ul", {}, (said.length ? said : ["This rule did nothing here"]).map((text) => h("li", { title: text.length > 400 ? text : undefined }, shorten(text, 400)))));
  }

  function legend() {
    const all = h("button", { type: "button", "aria-pressed": String(!model.get("rule")), onclick: () => tell(model, "rule", "") }, "All rules");
    bar.replaceChildren(all, ...rules.map((rule) => h("button", { type: "button", class: "wb-matrix-rule",
      "aria-pressed": String(model.get("rule") === rule.rule), title: rule.title,
      onclick: () => tell(model, "rule", model.get("rule") === rule.rule ? "" : rule.rule) }, matrixChip(rule), shorten(rule.title, 48))));
    bar.hidden = !rules.length;
  }

  function filtered() {
    const had = [...bar.children].indexOf(document.activeElement);
    legend();
    if (had >= 0) bar.children[had]?.focus();
    draw();
  }

  listen.add(table, "click", (event) => {
    const target = event.target.closest("[role=gridcell]");
    if (target) choose(target);
  });
  listen.add(table, "focusin", (event) => {
    const target = event.target.closest("[role=gridcell]");
    if (target) explain(cellAt(target));
  });
  listen.on("rule", filtered);
  for (const trait of ["execution_provider", "place"]) listen.on(trait, mark);
  scroll.hidden = !names.length || !places.length;
  legend();
  draw();
  el.append(root);
  return () => { listen.close(); root.remove(); };
}

export default { render: matrixRender };
