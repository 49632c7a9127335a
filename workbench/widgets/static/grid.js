// One tab stop for a whole table: arrows, Home and End go from cell to cell, Enter and Space act on one.
export function gridKeys(listen, table, selector, act) {
  const lines = () =>
    [...table.rows].map((row) => [...row.querySelectorAll(selector)]).filter((cells) => cells.length);

  function reach(cell) {
    for (const other of table.querySelectorAll(`:is(${selector})[tabindex="0"]`)) other.setAttribute("tabindex", "-1");
    cell.setAttribute("tabindex", "0");
  }

  function settle() {
    if (table.querySelector(`:is(${selector})[tabindex="0"]`)) return;
    const first = table.querySelector(selector);
    if (first) first.setAttribute("tabindex", "0");
  }

  function go(event) {
    const cell = event.target.closest?.(selector);
    if (!cell || event.altKey || event.metaKey) return;
    if ((event.key === "Enter" || event.key === " ") && act && event.target === cell) {
      event.preventDefault();
      act(cell);
      return;
    }
    const next = gridStep(lines(), cell, event);
    if (!next) return;
    event.preventDefault();
    reach(next);
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  listen.add(table, "keydown", go);
  listen.add(table, "focusin", (event) => {
    const cell = event.target.closest?.(selector);
    if (cell) reach(cell);
  });
  return settle;
}

// The cell that a key leads to, or nothing.
function gridStep(lines, cell, event) {
  const y = lines.findIndex((cells) => cells.includes(cell));
  const x = lines[y].indexOf(cell);
  const row = (at) => lines[Math.max(0, Math.min(lines.length - 1, at))];
  const at = (cells, i) => cells[Math.max(0, Math.min(cells.length - 1, i))];
  const column = (one) => one.closest("td, th").cellIndex;
  const away = (one) => Math.abs(column(one) - column(cell));
  const below = (cells) => cells.reduce((best, one) => (away(one) < away(best) ? one : best)); // rows may have gaps
  switch (event.key) {
    case "ArrowRight": return at(lines[y], x + 1);
    case "ArrowLeft": return at(lines[y], x - 1);
    case "ArrowDown": return below(row(y + 1));
    case "ArrowUp": return below(row(y - 1));
    case "Home": return event.ctrlKey ? lines[0][0] : lines[y][0];
    case "End": return event.ctrlKey ? lines.at(-1).at(-1) : lines[y].at(-1);
    case "PageDown": return below(row(y + 10));
    case "PageUp": return below(row(y - 10));
    default: return null;
  }
}

// Focus survives a table that is drawn anew: the cell with the same key gets it.
export function keepFocus(table, selector, redraw) {
  const had = table.contains(document.activeElement) ? document.activeElement.closest(selector)?.dataset.key : undefined;
  redraw();
  if (had === undefined) return;
  const again = [...table.querySelectorAll(selector)].find((cell) => cell.dataset.key === had);
  if (again) {
    again.setAttribute("tabindex", "0");
    again.focus({ preventScroll: true });
  }
}
