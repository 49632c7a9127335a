// The picture on a canvas: only what is seen, in few strokes where much is seen.
import { SAME, REMOVED, ADDED, CHANGED, SIGNS, GROUP, FIRST, SECOND } from "./fold.js";
import { FIELDS, HEAD } from "./layout.js";

const [READABLE, SKETCH, DUST] = [0.42, 0.16, 0.03];
const HIDDEN = { left: [ADDED, SECOND], right: [REMOVED, FIRST] };

// view: {scene, laid, theme, camera, dim, selected, traced, far}; pane: {x, width, height, side}
export function paint(ctx, view, pane) {
  const { k, tx, ty } = view.camera;
  const ratio = view.ratio;
  ctx.save();
  ctx.setTransform(ratio, 0, 0, ratio, pane.x * ratio, 0);
  ctx.beginPath();
  ctx.rect(0, 0, pane.width, pane.height);
  ctx.clip();
  ctx.transform(k, 0, 0, k, tx, ty);
  const [hideStatus, hideSides] = HIDDEN[pane.side] ?? [-1, -1];
  const seen = { x0: -tx / k, x1: (pane.width - tx) / k, y0: -ty / k, y1: (pane.height - ty) / k, hideStatus, hideSides };
  frames(ctx, view, seen);
  if (k > DUST) lines(ctx, view, seen); // below, a whole layer is a few dots high
  if (k > READABLE) heads(ctx, view, seen);
  boxes(ctx, view, seen);
  ctx.restore();
}

function within(laid, id, seen) {
  const { x, y, w, h } = laid;
  return x[id] < seen.x1 && y[id] < seen.y1 && x[id] + w[id] > seen.x0 && y[id] + h[id] > seen.y0;
}

function outline(ctx, x, y, w, h, k) {
  if (k > READABLE) ctx.roundRect(x, y, w, h, 6);
  else ctx.rect(x, y, w, h);
}

function frames(ctx, view, seen) {
  const { scene, laid, theme, camera } = view;
  const { x, y, w, h } = laid;
  for (const [frame, depth] of laid.depth) {
    if (!frame || !within(laid, frame, seen) || scene.statusOf(frame) === seen.hideStatus) continue;
    const group = scene.kind[frame] === GROUP;
    ctx.beginPath();
    outline(ctx, x[frame], y[frame], w[frame], h[frame], camera.k);
    ctx.fillStyle = theme.frames[depth % 2];
    ctx.fill();
    ctx.setLineDash(group ? [2, 3] : []);
    ctx.lineWidth = frame === view.selected ? 3 : 1;
    ctx.strokeStyle = frame === view.selected ? theme.accent : group ? theme.quiet : theme.frameEdge;
    ctx.stroke();
    ctx.setLineDash([]);
  }
}

// Names of frames, over the lines that pass there; they stay in sight while one moves sideways.
function heads(ctx, view, seen) {
  const { scene, laid, theme } = view;
  for (const [frame, depth] of laid.depth) {
    if (!frame || !within(laid, frame, seen) || scene.statusOf(frame) === seen.hideStatus) continue;
    const [x, y, w] = [laid.x[frame], laid.y[frame] + HEAD / 2 + 4, laid.w[frame]];
    const rim = theme.frames[depth % 2];
    const text = `▾ ${scene.label(frame)}`;
    ctx.font = `600 12px ${theme.font}`;
    const wide = ctx.measureText(text).width;
    const right = Math.min(x + w - 10, seen.x1 - 10);
    const left = Math.max(x + 12, Math.min(seen.x0 + 10, x + w - wide - 90));
    ctx.fillStyle = theme.quiet;
    written(ctx, text, left, y, rim);
    if (right > left + wide + 70) chips(ctx, view, frame, right, y, seen, rim);
  }
}

function written(ctx, text, x, y, rim) {
  if (rim) {
    ctx.strokeStyle = rim;
    ctx.lineWidth = 4;
    ctx.strokeText(text, x, y);
  }
  ctx.fillText(text, x, y);
}

function chips(ctx, view, tree, right, y, seen, rim) {
  ctx.font = `700 11px ${view.theme.font}`;
  ctx.textAlign = "right";
  for (const status of [CHANGED, ADDED, REMOVED]) {
    const count = view.scene.count(tree, status);
    if (!count || status === seen.hideStatus) continue;
    const text = SIGNS[status] + count.toLocaleString("en-US");
    ctx.fillStyle = view.theme.chip[status];
    written(ctx, text, right, y, rim);
    right -= ctx.measureText(text).width + 8;
  }
  ctx.textAlign = "left";
}

function lines(ctx, view, seen) {
  const paths = new Map();
  const arrows = new Map();
  const { pieces } = view.laid;
  const { k } = view.camera;
  for (let i = 0; i < pieces.length; i += FIELDS) {
    const [x1, y1, x2, y4] = [pieces[i], pieces[i + 1], pieces[i + 3], pieces[i + 5]];
    const sides = pieces[i + 7];
    if (y1 > seen.y1 || y4 < seen.y0 || (x1 < seen.x0 && x2 < seen.x0) || (x1 > seen.x1 && x2 > seen.x1)) continue;
    if (sides === seen.hideSides) continue;
    const style = view.traced?.has(i) ? -1 : sides === FIRST || sides === SECOND ? sides : 1;
    if (!paths.has(style)) {
      paths.set(style, new Path2D());
      arrows.set(style, new Path2D());
    }
    trail(paths.get(style), pieces, i, k);
    if (pieces[i + 8] && k > READABLE) arrowHead(arrows.get(style), x2, y4);
  }
  for (const style of [1, FIRST, SECOND, -1]) {
    if (!paths.has(style)) continue;
    ctx.globalAlpha = style < 0 ? 1 : view.dim ? 0.35 : 1;
    ctx.lineWidth = style < 0 ? Math.max(2.5, 1.5 / k) : Math.max(1.2, 0.6 / k);
    ctx.setLineDash(style === FIRST && k > READABLE ? [5, 3] : []);
    ctx.strokeStyle = ctx.fillStyle = style < 0 ? view.theme.accent : view.theme.line[style];
    ctx.stroke(paths.get(style));
    ctx.setLineDash([]);
    ctx.fill(arrows.get(style));
  }
  ctx.globalAlpha = 1;
}

function trail(path, p, i, k) {
  const [x1, y1, y2, x2, y3, y4] = p.subarray(i, i + 6);
  path.moveTo(x1, y1);
  if (x1 !== x2) {
    if (y2 > y1) path.lineTo(x1, y2);
    const bend = (y3 - y2) / 2;
    if (k > 0.25) path.bezierCurveTo(x1, y2 + bend, x2, y3 - bend, x2, y3);
    else path.lineTo(x2, y3);
  }
  path.lineTo(x2, y4);
}

function arrowHead(path, x, y) {
  path.moveTo(x - 4, y - 6);
  path.lineTo(x, y);
  path.lineTo(x + 4, y - 6);
}

function boxes(ctx, view, seen) {
  const { scene, laid, theme, camera } = view;
  const { x, y, w, h } = laid;
  const sets = new Map();
  for (const id of laid.boxes) {
    const status = scene.statusOf(id);
    if (status === seen.hideStatus || !within(laid, id, seen)) continue;
    const key = status + (view.dim && !view.dim.has(id) ? 4 : 0);
    if (!sets.has(key)) sets.set(key, []);
    sets.get(key).push(id);
  }
  for (const [key, ids] of [...sets].sort(([a], [b]) => (b > 3) - (a > 3))) {
    const status = key % 4;
    ctx.globalAlpha = key > 3 ? 0.22 : 1;
    ctx.fillStyle = camera.k > SKETCH ? theme.fill[status] : theme.edge[status];
    ctx.lineWidth = status === SAME ? 1 : 2;
    ctx.strokeStyle = theme.edge[status];
    ctx.setLineDash(status === REMOVED && camera.k > READABLE ? [5, 3] : []);
    const folded = camera.k > SKETCH ? ids.filter((id) => id < scene.trees) : [];
    for (const [set, shift] of [[folded, 4], [ids, 0]]) {
      const path = new Path2D(); // a folded box lies on a second one
      for (const id of set) outline(path, x[id] + shift, y[id] + shift, w[id], h[id], camera.k);
      ctx.fill(path);
      if (camera.k > SKETCH) ctx.stroke(path);
    }
    ctx.setLineDash([]);
    for (const id of ids) inBox(ctx, view, id, status, seen);
  }
  ctx.globalAlpha = 1;
  const id = view.selected;
  if (id >= 0 && w[id] >= 0 && scene.statusOf(id) !== seen.hideStatus && !laid.folded.children.has(id)) halo(ctx, view, id, 3);
}

function halo(ctx, view, id, width) {
  const { x, y, w, h } = view.laid;
  ctx.beginPath();
  ctx.lineWidth = Math.max(width, 2 / view.camera.k);
  ctx.strokeStyle = view.theme.accent;
  ctx.roundRect(x[id] - 4, y[id] - 4, w[id] + 8, h[id] + 8, 8);
  ctx.stroke();
}

function inBox(ctx, view, id, status, seen) {
  const { scene, theme, camera, laid } = view;
  const [x, y, w, h] = [laid.x[id], laid.y[id], laid.w[id], laid.h[id]];
  if (camera.k < SKETCH) return;
  if (status !== SAME) {
    ctx.fillStyle = theme.edge[status];
    ctx.fillRect(x, y + 1, 18, h - 2);
  }
  if (camera.k < READABLE) return;
  if (status !== SAME) {
    ctx.fillStyle = theme.onEdge[status];
    ctx.font = `700 16px ${theme.font}`;
    ctx.fillText(SIGNS[status], x + 4, y + 26);
  }
  const left = x + (status === SAME ? 12 : 26);
  ctx.font = `600 12px ${theme.font}`;
  ctx.fillStyle = theme.ink;
  ctx.fillText((id < scene.trees ? "▸ " : "") + scene.label(id), left, y + (scene.note(id) ? 17 : 25));
  ctx.font = `11px ${theme.font}`;
  ctx.fillStyle = theme.quiet;
  ctx.fillText(scene.note(id), left, y + 32);
  if (id < scene.trees) chips(ctx, view, id, x + w - 8, y + 32, seen);
  badge(ctx, theme, "↑", laid.reads.get(id), x + w, y);
  badge(ctx, theme, "↓", laid.read.get(id), x + w, y + h);
}

// At the border: how many values come from, or go to, boxes too far away for a line.
function badge(ctx, theme, arrow, others, right, y) {
  if (!others) return;
  const text = arrow + others.length;
  ctx.font = `10px ${theme.font}`;
  const wide = ctx.measureText(text).width + 8;
  ctx.beginPath();
  ctx.roundRect(right - wide - 2, y - 7, wide, 14, 7);
  ctx.fillStyle = theme.page;
  ctx.strokeStyle = theme.quiet;
  ctx.lineWidth = 1;
  ctx.fill();
  ctx.stroke();
  ctx.fillStyle = theme.ink;
  ctx.fillText(text, right - wide + 2, y + 3.5);
}
