// The mouse and the finger on the picture: drag, click, wheel, and words beside what is pointed at.
import { shorten } from "./dom.js";
import { HEAD } from "./layout.js";
import { SIGNS } from "./fold.js";

export function pointer(view, undo) {
  const { canvas, tip } = view;
  let from = null;
  undo.add(canvas, "pointerdown", (event) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    from = { x: event.clientX, y: event.clientY, moved: false };
  });
  undo.add(canvas, "pointermove", (event) => {
    if (!from) return hover(view, event);
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
    from = { x: event.clientX, y: event.clientY, moved: true };
    tip.hidden = true;
    view.camera.move(dx, dy);
  });
  undo.add(canvas, "pointerup", (event) => {
    if (from && !from.moved) click(view, event);
    from = null;
  });
  undo.add(canvas, "pointerleave", () => (tip.hidden = true));
  undo.add(canvas, "wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return; // the page scrolls on
    event.preventDefault();
    const [x, y] = spotOf(view, event);
    view.camera.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.03 : 0.0015)), x, y);
  }, { passive: false });
}

function spotOf(view, event) {
  const at = view.canvas.getBoundingClientRect();
  const [width] = view.size();
  const x = event.clientX - at.left;
  return [x > width ? x - width : x, event.clientY - at.top];
}

// The box under the pointer, or the frame whose head it is on.
function hit(view, event) {
  const [sx, sy] = spotOf(view, event);
  const { k, tx, ty } = view.camera;
  const [px, py] = [(sx - tx) / k, (sy - ty) / k];
  const { x, y, w, h, boxes, depth } = view.laid;
  const inside = (id, high) => px >= x[id] && px <= x[id] + w[id] && py >= y[id] && py <= y[id] + high;
  for (const id of boxes) if (inside(id, h[id])) return id;
  for (const id of [...depth.keys()].reverse()) if (id && inside(id, HEAD)) return id;
  return -1;
}

function click(view, event) {
  const id = hit(view, event);
  if (id >= 0 && id < view.scene.trees) view.toggle(id);
  else view.select(id, false, true);
}

function hover(view, event) {
  const { canvas, tip, scene, laid } = view;
  const id = hit(view, event);
  canvas.style.cursor = id < 0 ? "grab" : "pointer";
  tip.hidden = id < 0;
  if (id < 0) return;
  const name = (box) => `${scene.label(box)} ${box < scene.trees ? "" : shorten(scene.named(box), 40)}`;
  const lines = [`${SIGNS[scene.statusOf(id)]} ${name(id)}`.trim(), scene.note(id)];
  for (const [word, others] of [["reads from", laid.reads.get(id)], ["read by", laid.read.get(id)]]) {
    if (others) lines.push(`far away, ${word}: ${others.slice(0, 4).map(name).join(", ")}${others.length > 4 ? " …" : ""}`);
  }
  tip.textContent = lines.filter(Boolean).join("\n");
  const at = canvas.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX - at.left + 14, at.width - 260)}px`;
  tip.style.top = `${Math.min(event.clientY - at.top + 14, at.height - 60)}px`;
}
