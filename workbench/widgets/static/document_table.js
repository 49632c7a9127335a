// A result of an analysis as a table to filter: values of a workflow, what a cache depends on, what two documents differ in.
import { h, listeners, number, plural, status, tell, OWN_KEYS } from "./dom.js";
import { unpack } from "./pack.js";
import { gridKeys } from "./grid.js";

const MOST_SHOWN = 300;
const FEW = 3; // this many alike are still shown one by one
const CHANGE_SIGNS = { added: "+", removed: "−", changed: "~" };

function parted(text) {
  return text.split(/(?<=[._/(@])/).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
}

function documentTableRender({ model, el }) {
  const life = listeners(model);
  const facts = model.get("_facts");
  const columns = unpack(model.get("_header"), model.get("_blob"));
  const cells = facts.columns.map((_, i) => columns[`c${i}`].all());
  const [paths, told] = [columns.path.all(), columns.told];
  const wholes = facts.columns.map((_, i) => columns[`w${i}`]); // what a cell shows the begin of
  const kinds = facts.kinds >= 0 ? cells[facts.kinds] : null;
  const texts = paths.map((path, i) => [path, ...cells.map((column) => column[i])].join("\n").toLowerCase());
  const patterns = paths.map((path, i) => [path, ...cells.map((column) => column[i])].join("\n").replace(/\d+/g, "*"));
  const unfolded = new Set();
  let opened = -1;
  let limit = MOST_SHOWN;

  const find = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter rows by a word", ...OWN_KEYS });
  const select = kinds && h("select", { "aria-label": `Only one ${facts.columns[facts.kinds]}`, ...OWN_KEYS }, h("option", { value: "" }, `every ${facts.columns[facts.kinds]}`),
    [...new Set(kinds)].map((kind) => h("option", { value: kind }, `${kind || "none"} (${number(kinds.filter((one) => one === kind).length)})`)));
  const said = status();
  const table = h("table", { class: "wb-doc-table", role: "grid", "aria-label": facts.title, ...OWN_KEYS });
  const head = h("thead", {}, h("tr", {}, facts.columns.map((name) => h("th", { scope: "col" }, name.replaceAll("_", " ")))));
  const body = h("tbody", {});
  const more = h("button", { type: "button", onclick: () => { limit += MOST_SHOWN; draw(); } });
  table.append(head, body);
  const settle = gridKeys(life, table, ".wb-doc-row", act);

  function act(row) {
    if (row.dataset.fold) {
      unfolded.add(patterns[row.dataset.fold]);
      return draw(Number(row.dataset.fold));
    }
    const i = Number(row.dataset.row);
    opened = opened === i ? -1 : i;
    tell(model, "node", opened < 0 ? "" : paths[i]);
    draw(i);
  }

  function matching() {
    const word = find.value.trim().toLowerCase();
    const kind = select?.value;
    return paths.map((_, i) => i).filter((i) => (!word || texts[i].includes(word)) && (!kind || kinds[i] === kind));
  }

  function draw(focused = -1) {
    const found = matching();
    const items = folded(found);
    const shown = items.slice(0, limit);
    body.replaceChildren(...shown.flatMap((item) => (item.length > 1 ? [foldedRow(item)] : rowOf(item[0]))));
    more.hidden = items.length <= limit;
    more.textContent = `${plural(items.length - shown.length, "more row")}`;
    said.textContent = found.length === paths.length ? `${facts.title}${facts.note ? `. ${facts.note}` : ""}` : `${number(found.length)} of ${plural(paths.length, "row")}`;
    if (!found.length) body.append(h("tr", {}, h("td", { colspan: facts.columns.length, class: "wb-quiet" }, paths.length ? "No row has this word." : facts.empty)));
    settle();
    if (focused >= 0) {
      const cell = body.querySelector(`.wb-doc-row[data-row="${focused}"]`);
      for (const other of table.querySelectorAll('.wb-doc-row[tabindex="0"]')) other.tabIndex = -1;
      if (cell) { cell.tabIndex = 0; cell.focus({ preventScroll: true }); }
    }
  }

  // Rows that differ in their numbers alone are one until it is opened: a cache has rows for every layer.
  function folded(found) {
    const alike = new Map();
    for (const i of found) alike.set(patterns[i], [...(alike.get(patterns[i]) || []), i]);
    return [...alike].flatMap(([pattern, rows]) => (rows.length <= FEW || unfolded.has(pattern) ? rows.map((i) => [i]) : [rows]));
  }

  function foldedRow(rows) {
    const [first] = rows;
    const same = (column) => new Set(rows.map((i) => column[i])).size === 1;
    const line = h("tr", { class: CHANGE_SIGNS[cells[0][first]] ? `wb-doc-${cells[0][first]}` : "" }, cells.map((column, at) => h("td", at ? {} : {
      class: "wb-doc-row", "data-fold": first, tabindex: "-1", "aria-expanded": "false" },
    at ? null : h("span", { class: "wb-doc-times" }, `▸ ${number(rows.length)} × `), at ? null : signOf(first), parted(same(column) ? column[first] : column[first].replace(/\d+/g, "*")))));
    line.addEventListener("click", () => act(line.querySelector(".wb-doc-row")));
    return line;
  }

  const signOf = (i) => (CHANGE_SIGNS[cells[0][i]] ? h("span", { class: "wb-doc-sign", "aria-hidden": "true" }, CHANGE_SIGNS[cells[0][i]]) : null);

  // The first cell of a row is what keys reach; the whole row can be clicked.
  function rowOf(i) {
    const line = h("tr", { class: CHANGE_SIGNS[cells[0][i]] ? `wb-doc-${cells[0][i]}` : "", "aria-selected": String(opened === i) }, cells.map((column, at) => h("td", at ? { title: wholes[at]?.get(i) || null } : {
      class: "wb-doc-row", "data-row": i, tabindex: "-1", "aria-expanded": told.length ? String(opened === i) : undefined },
    at ? null : signOf(i), parted(column[i]))));
    line.addEventListener("click", () => act(line.querySelector(".wb-doc-row")));
    if (opened !== i) return [line];
    const lines = told.get(i).split("\x1f").filter(Boolean);
    return [line, h("tr", { class: "wb-doc-told" }, h("td", { colspan: facts.columns.length }, lines.length ? h("ol", { "aria-label": facts.told }, lines.map((text) => h("li", {}, parted(text)))) : null,
      h("code", {}, parted(paths[i] || "the document"))))];
  }

  life.add(find, "input", () => { limit = MOST_SHOWN; opened = -1; draw(); });
  if (select) life.add(select, "change", () => { opened = -1; draw(); });
  life.on("node", () => {
    const wanted = model.get("node");
    if (wanted === (paths[opened] ?? "")) return;
    opened = wanted ? paths.findIndex((path) => path === wanted || path.startsWith(`${wanted}.`) || path.startsWith(`${wanted}[`)) : -1;
    if (opened >= 0) unfolded.add(patterns[opened]);
    draw();
  });
  const root = h("div", { class: "wb-view wb-doc", role: "group", "aria-label": facts.title },
    h("div", { class: "wb-bar" }, find, select), said, h("div", { class: "wb-scroll wb-doc-scroll", tabindex: "0", role: "group", "aria-label": `${facts.label}, rows` }, table), more);
  draw();
  el.append(root);
  return () => { life.close(); root.remove(); };
}

export default { render: documentTableRender };
