// Elements from data. Text of a graph only ever becomes text: nothing here parses HTML.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function number(n) {
  return n.toLocaleString("en-US");
}

export function signed(n) {
  return n > 0 ? `+${number(n)}` : n < 0 ? `−${number(-n)}` : "0";
}

// Long names stay readable: the head and the tail, the whole of it in the tooltip.
export function shorten(text, most = 60) {
  return text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
}

export function plural(n, word) {
  return `${number(n)} ${word}${n === 1 ? "" : "s"}`;
}

// Text that may be broken after a dot, a slash or a bracket, where dotted names are best broken.
export function breakable(text) {
  return text.split(/(?<=[./(])/).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
}

// Set a trait and tell the kernel, if there is one.
export function tell(model, name, value) {
  if (model.get(name) === value) return;
  model.set(name, value);
  model.save_changes();
}

// For selects and sliders: JupyterLab takes arrow keys for itself and leaves these with none.
export const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

// What `render` returns: undoes every listener that was added through it.
export function listeners(model) {
  const undo = [];
  return {
    on(name, handler) {
      model.on(`change:${name}`, handler);
      undo.push(() => model.off(`change:${name}`, handler));
    },
    add(target, kind, handler, options) {
      target.addEventListener(kind, handler, options);
      undo.push(() => target.removeEventListener(kind, handler, options));
    },
    later(action) {
      undo.push(action);
    },
    close() {
      for (const action of undo.splice(0)) action();
    },
  };
}

// A line that screen readers speak when it changes.
export function status() {
  return h("div", { class: "wb-status", role: "status", "aria-live": "polite" });
}
