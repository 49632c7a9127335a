// The whole graph small, and where one is in it; click or drag to go there. The mouse's only: keys have n, p and arrows.
import { h } from "./dom.js";
import { SAME } from "./fold.js";

const [WIDE, HIGH] = [132, 168];

export function minimapOf(view, undo) {
  const canvas = h("canvas", { class: "wb-minimap", "aria-hidden": "true" });
  const ctx = canvas.getContext("2d", { willReadFrequently: true });
  let picture = null;
  const scale = () => Math.min(WIDE / view.laid.w[0], HIGH / view.laid.h[0]);

  const draw = () => {
    const { x, y, w, h: high, boxes } = view.laid;
    const s = scale() * 2; // two dots a pixel: sharp on any screen
    canvas.width = Math.max(48, Math.ceil(w[0] * s));
    canvas.height = Math.max(48, Math.ceil(high[0] * s));
    canvas.style.width = `${canvas.width / 2}px`;
    canvas.style.height = `${canvas.height / 2}px`;
    for (const quiet of [true, false]) {
      for (const id of boxes) {
        const status = view.scene.statusOf(id);
        const marked = status !== SAME || (id < view.scene.trees && differing(view.scene, id));
        if (marked === quiet) continue;
        ctx.fillStyle = view.theme.edge[status || (marked ? 1 : 0)];
        ctx.fillRect(x[id] * s, y[id] * s, Math.max(2, w[id] * s), Math.max(quiet ? 1 : 2, high[id] * s));
      }
    }
    picture = ctx.getImageData(0, 0, canvas.width, canvas.height);
  };
  const follow = () => {
    if (!picture) draw();
    const { k, tx, ty } = view.camera;
    const s = (scale() * 2) / k;
    const [width, height] = view.size();
    ctx.putImageData(picture, 0, 0);
    ctx.strokeStyle = view.theme.accent;
    ctx.lineWidth = 3;
    ctx.strokeRect(Math.max(1, -tx * s), Math.max(1, -ty * s), Math.min(width * s, canvas.width - 3), Math.max(4, Math.min(height * s, canvas.height - 3)));
  };
  const go = (event) => {
    if (!event.buttons) return;
    const at = canvas.getBoundingClientRect();
    const [px, py] = [(event.clientX - at.left) / scale(), (event.clientY - at.top) / scale()];
    const [width, height] = view.size();
    view.camera.go({ k: view.camera.k, tx: width / 2 - px * view.camera.k, ty: height / 2 - py * view.camera.k }, false);
  };
  undo.add(canvas, "pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    go(event);
  });
  undo.add(canvas, "pointermove", go);
  return { canvas, follow, forget: () => (picture = null) };
}

export function differing(scene, tree) {
  return scene.count(tree, 1) + scene.count(tree, 2) + scene.count(tree, 3);
}
