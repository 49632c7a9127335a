// Operators of several graphs as bars: counts side by side, or differences to one of the graphs.
import { h, listeners, number, shorten, signed, status, tell } from "./dom.js";
import { gridKeys, keepFocus } from "./grid.js";
import { unpack } from "./pack.js";

const OPS_CELL = "[role=gridcell], [role=rowheader]";
const OPS_SORTS = { count: "count", change: "change", name: "name" };

function opsRead(model) {
  const facts = model.get("_facts");
  const columns = unpack(model.get("_header"), model.get("_blob"));
  const width = facts.names.length;
  const rows = Array.from({ length: columns.name.length }, (_, i) => ({
    op: columns.name.get(i),
    domain: columns.domain.get(i),
    counts: Array.from(columns.count.subarray(i * width, (i + 1) * width)),
  }));
  return { names: facts.names, totals: facts.totals, rows };
}

function opsSorted(rows, kind, base) {
  const most = (row) => Math.max(...row.counts);
  const change = (row) => Math.max(...row.counts.map((n) => Math.abs(n - row.counts[base])));
  const key = { count: most, change, name: () => 0 }[kind];
  return [...rows].sort((a, b) => key(b) - key(a) || (a.op < b.op ? -1 : 1));
}

// Rows as they are shown: with domains folded, a row for each domain and below it what is open.
function opsShown(data, state, base) {
  const needle = state.search.trim().toLowerCase();
  const differs = (row) => row.counts.some((n) => n !== row.counts[base]);
  const left = data.rows.filter(
    (row) => (!needle || row.op.toLowerCase().includes(needle)) && (!state.changed || differs(row)),
  );
  const sorted = opsSorted(left, state.sort, base);
  if (!state.fold) return sorted;
  const domains = [...new Set(sorted.map((row) => row.domain))];
  const groups = domains.map((domain) => {
    const own = sorted.filter((row) => row.domain === domain);
    const counts = data.names.map((_, i) => own.reduce((sum, row) => sum + row.counts[i], 0));
    return { op: domain || "ai.onnx", domain, counts, group: own };
  });
  return opsSorted(groups, state.sort, base).flatMap((group) =>
    state.open.has(group.domain) ? [group, ...group.group.map((row) => ({ ...row, inside: true }))] : [group],
  );
}

function opsBar(change, length) {
  const bar = h("span", { class: `wb-op-bar ${change > 0 ? "wb-more" : change < 0 ? "wb-less" : ""}`, "aria-hidden": "true" });
  bar.style.setProperty("--wb-length", length.toFixed(4));
  bar.hidden = length === 0;
  return bar;
}

// A count with its bar; a change is written out as well.
function opsCount(count, change, most) {
  return h("span", { class: "wb-op-count" }, opsBar(change, count / most),
    h("span", { class: "wb-op-number" }, number(count), change ? h("span", { class: "wb-op-change" }, ` (${signed(change)})`) : null));
}

// A change left or right of the middle.
function opsChange(change, most) {
  const bar = opsBar(change, Math.abs(change) / most);
  const text = h("span", { class: "wb-op-number" }, signed(change));
  const side = (...parts) => h("span", { class: "wb-op-side" }, ...parts);
  if (change < 0) return h("span", { class: "wb-op-both" }, side(text, bar), side());
  return h("span", { class: "wb-op-both" }, side(), change ? side(bar, text) : side(text));
}

function opsToggle(text, act) {
  return h("button", { type: "button", onclick: act }, text);
}

function opsSelect(label, name, options, act) {
  const select = h("select", { "aria-label": name, onchange: (event) => act(event.target.value) },
    Object.entries(options).map(([key, text]) => h("option", { value: key }, text)));
  return h("label", { class: "wb-op-field" }, label, " ", select);
}

function opsRender({ model, el }) {
  const listen = listeners(model);
  const data = opsRead(model);
  const state = { sort: model.get("mode") === "difference" ? "change" : "count", search: "", fold: false, changed: false, open: new Set() };
  const base = () => Math.max(0, data.names.indexOf(model.get("base")));
  const baseName = () => shorten(data.names[base()] ?? "", 28);
  const bar = h("div", { class: "wb-bar" });
  const table = h("table", { class: "wb-op-table", role: "grid", "aria-label": "Nodes per operator" });
  const empty = h("p", { class: "wb-quiet" });
  const live = status();
  const scroll = h("div", { class: "wb-scroll wb-op-scroll" }, table);
  const root = h("div", { class: "wb-view wb-ops", role: "group", "aria-label": "Operator histogram" },
    bar, h("p", { class: "wb-quiet wb-op-key" }), scroll, empty, live);
  const settle = gridKeys(listen, table, OPS_CELL, choose);

  function choose(cell) {
    const row = data.drawn[Number(cell.dataset.row)];
    const column = cell.dataset.column === undefined ? -1 : Number(cell.dataset.column);
    if (row.group) {
      state.open[state.open.has(row.domain) ? "delete" : "add"](row.domain);
      draw();
      return;
    }
    const name = column < 0 ? "" : data.names[column];
    const again = model.get("op") === row.op && model.get("execution_provider") === name;
    model.set("op", again ? "" : row.op);
    model.set("execution_provider", again ? "" : name);
    model.save_changes();
  }

  function say(row, column) {
    const count = row.counts[column], change = count - row.counts[base()];
    const against = data.names.length > 1 && column !== base() ? `, ${signed(change)} against ${baseName()}` : "";
    return `${data.names[column] ? `${shorten(data.names[column])}, ` : ""}${shorten(row.op, 100)}: ${number(count)} ${count === 1 ? "node" : "nodes"}${against}`;
  }

  function cellOf(row, y, column, most) {
    const change = row.counts[column] - row.counts[base()];
    const difference = model.get("mode") === "difference";
    const inside = difference ? opsChange(change, most) : opsCount(row.counts[column], change, most);
    return h("td", { role: "gridcell", tabindex: "-1", "data-row": y, "data-column": column,
      "data-key": `${row.op}/${data.names[column]}`, "aria-label": say(row, column), title: say(row, column) }, inside);
  }

  function head(columns) {
    const difference = model.get("mode") === "difference";
    return h("tr", { role: "row" }, h("th", { scope: "col", role: "columnheader" }, "Operator"),
      columns.map((i) => h("th", { scope: "col", role: "columnheader", class: difference ? "wb-op-middle" : "" },
        data.names[i] ? h("div", {}, shorten(data.names[i], 28)) : null,
        h("div", { class: "wb-quiet wb-op-total" }, difference
          ? `${signed(data.totals[i] - data.totals[base()])} nodes` : `${number(data.totals[i])} nodes`))));
  }

  function nameOf(row, y) {
    const label = row.group ? `${state.open.has(row.domain) ? "▾" : "▸"} ${row.op} (${row.group.length})` : shorten(row.op, 48);
    return h("th", { scope: "row", role: "rowheader", tabindex: "-1", "data-row": y, "data-key": row.op, title: row.op,
      "aria-expanded": row.group ? String(state.open.has(row.domain)) : undefined,
      class: row.inside ? "wb-op-inside" : row.group ? "wb-op-group" : "" }, label);
  }

  function draw() {
    keepFocus(table, OPS_CELL, () => {
      const difference = model.get("mode") === "difference" && data.names.length > 1;
      const columns = data.names.map((_, i) => i).filter((i) => !difference || i !== base());
      data.drawn = opsShown(data, state, base());
      const values = data.drawn.flatMap((row) => columns.map((i) => difference ? Math.abs(row.counts[i] - row.counts[base()]) : row.counts[i]));
      const most = Math.max(1, ...values);
      table.classList.toggle("wb-op-difference", difference);
      table.replaceChildren(h("thead", { role: "rowgroup" }, head(columns)), h("tbody", { role: "rowgroup" }, data.drawn.map((row, y) =>
        h("tr", { role: "row" }, nameOf(row, y), columns.map((i) => cellOf(row, y, i, most))))));
    });
    settle();
    controls();
    words();
    mark();
  }

  function words() {
    const nothing = !data.drawn.length;
    scroll.hidden = nothing;
    empty.hidden = !nothing;
    empty.textContent = !data.rows.length ? "No operators: the graphs have no nodes."
      : state.search.trim() ? `No operator matches “${shorten(state.search.trim(), 40)}”${state.changed ? " among those that change" : ""}.`
        : `No operator changes against ${baseName()}.`;
    const key = root.querySelector(".wb-op-key");
    key.hidden = data.names.length < 2;
    const chips = [h("span", { class: "wb-op-chip wb-more" }), "+ more than ", h("b", {}, baseName()), " ",
      h("span", { class: "wb-op-chip wb-less" }), "− fewer ", h("span", { class: "wb-op-chip" }), "as many"];
    key.replaceChildren(...chips);
  }

  function mark() {
    const op = model.get("op"), name = model.get("execution_provider");
    for (const cell of table.querySelectorAll(OPS_CELL)) {
      const row = data.drawn[Number(cell.dataset.row)];
      const own = cell.dataset.column === undefined ? "" : data.names[Number(cell.dataset.column)];
      const on = !row.group && row.op === op && (own === name || (own === "" && !data.names.includes(name)));
      cell.setAttribute("aria-selected", String(on));
    }
    const row = data.rows.find((one) => one.op === op);
    const column = data.names.indexOf(name);
    const shown = data.drawn.filter((one) => !one.group).length;
    live.textContent = row && column >= 0 ? `Selected: ${say(row, column)}.`
      : row ? `Selected: ${data.names.map((_, i) => say(row, i).replace(`${shorten(row.op, 100)}: `, "")).join("; ")} (${shorten(row.op, 100)}).`
        : `${state.fold ? data.drawn.filter((one) => one.group).length + " domains" : shown + " of " + data.rows.length + " operators"}.`;
  }

  // The controls are made once and then only changed, so that the keyboard stays where it is.
  const flip = (name) => () => { state[name] = !state[name]; draw(); };
  const pressed = {
    counts: opsToggle("Counts", () => tell(model, "mode", "counts")),
    difference: opsToggle("Difference", () => tell(model, "mode", "difference")),
    fold: opsToggle("Fold by domain", flip("fold")),
    changed: opsToggle("Hide unchanged", flip("changed")),
  };
  const several = data.names.length > 1;
  const sort = opsSelect("Sort by", "Sort by", several ? OPS_SORTS : { count: "count", name: "name" }, (v) => { state.sort = v; draw(); });
  const to = opsSelect("against", "Compared against", Object.fromEntries(data.names.map((n) => [n, shorten(n, 28)])), (v) => tell(model, "base", v));
  const search = h("input", { type: "search", "aria-label": "Search operators", placeholder: "Search operators",
    oninput: (event) => { state.search = event.target.value; draw(); } });
  bar.append(...(several ? [pressed.counts, pressed.difference, to] : []), sort, search, pressed.fold, ...(several ? [pressed.changed] : []));

  function controls() {
    const difference = model.get("mode") === "difference";
    const now = { counts: !difference, difference, fold: state.fold, changed: state.changed };
    for (const [name, button] of Object.entries(pressed)) button.setAttribute("aria-pressed", String(now[name]));
    sort.querySelector("select").value = state.sort;
    to.querySelector("select").value = data.names[base()];
  }

  listen.add(table, "click", (event) => {
    const cell = event.target.closest(OPS_CELL);
    if (cell) choose(cell);
  });
  listen.on("base", draw);
  listen.on("mode", () => {
    if (state.sort !== "name") state.sort = model.get("mode") === "difference" ? "change" : "count";
    draw();
  });
  for (const name of ["op", "execution_provider"]) listen.on(name, mark);
  draw();
  el.append(root);
  return () => { listen.close(); root.remove(); };
}

export default { render: opsRender };
