// Execution providers side by side in numbers; each cell is a button that opens the view behind it.
import { h, listeners, shorten } from "./dom.js";
import { gridKeys } from "./grid.js";

// Lines break between words only, not within 1e-5.
function tableWords(text) {
  return text.split(" ").flatMap((word, i) => [i ? " " : "", h("span", { class: "wb-ep-word" }, word)]);
}

function tableRender({ model, el }) {
  const listen = listeners(model);
  const table = h("table", { class: "wb-ep-table" });
  const details = h("div", { class: "wb-status wb-ep-facts", role: "status", "aria-live": "polite" });
  const root = h("div", { class: "wb-view wb-ep", role: "group", "aria-label": "Execution providers side by side" },
    h("div", { class: "wb-scroll" }, table), details);
  const settle = gridKeys(listen, table, "td button");

  function choose(row, name) {
    const again = model.get("row") === row && model.get("execution_provider") === name;
    model.set("row", again ? "" : row);
    model.set("execution_provider", again ? "" : name);
    model.save_changes();
  }

  function draw() {
    const { execution_providers: names, rows } = model.get("_facts");
    const head = names.map((name) => h("th", { scope: "col", title: name }, shorten(name, 28)));
    const body = rows.map(({ row, title, cells }) => h("tr", {}, h("th", { scope: "row" }, title),
      cells.map(({ text, opens }, i) => h("td", {}, h("button", { type: "button", tabindex: "-1", "data-row": row, "data-name": names[i],
        "aria-label": `${names[i]}, ${title}: ${text}${opens ? `; opens ${opens}` : ""}`, title: opens ? `Open ${opens}` : undefined,
        onclick: () => choose(row, names[i]) }, tableWords(shorten(text, 60)))))));
    table.replaceChildren(h("thead", {}, h("tr", {}, h("th", { scope: "col" }, model.get("_facts").name ? shorten(model.get("_facts").name, 40) : "Model"), head)),
      h("tbody", {}, body));
    settle();
    mark();
  }

  function mark() {
    const { execution_providers: names, rows } = model.get("_facts");
    const name = model.get("execution_provider"), row = model.get("row");
    for (const button of table.querySelectorAll("td button")) {
      const on = button.dataset.row === row && button.dataset.name === name;
      button.setAttribute("aria-pressed", String(on));
    }
    const cell = rows.find((one) => one.row === row)?.cells[names.indexOf(name)];
    details.textContent = cell ? shorten(cell.facts, 600) : "Choose a cell to see what is behind its number.";
  }

  listen.on("_facts", draw);
  for (const trait of ["execution_provider", "row"]) listen.on(trait, mark);
  draw();
  el.append(root);
  return () => { listen.close(); root.remove(); };
}

export default { render: tableRender };
