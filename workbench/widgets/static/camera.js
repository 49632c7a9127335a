// Where the picture is looked at from: screen = picture * k + (tx, ty).
const [NEAREST, FARTHEST] = [2.5, 0.004];

export function newCamera(paint) {
  const camera = { k: 1, tx: 0, ty: 0 };
  let running = 0;
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  camera.zoom = (factor, x, y) => {
    const k = Math.min(NEAREST, Math.max(FARTHEST, camera.k * factor));
    camera.go({ k, tx: x - ((x - camera.tx) * k) / camera.k, ty: y - ((y - camera.ty) * k) / camera.k }, false);
  };
  camera.move = (dx, dy) => camera.go({ k: camera.k, tx: camera.tx + dx, ty: camera.ty + dy }, false);
  camera.fit = ([width, height], [w, h], smooth) => {
    const k = Math.min(1, width / w, height / h);
    camera.go({ k, tx: (width - w * k) / 2, ty: Math.max(0, (height - h * k) / 2) }, smooth);
  };
  // As wide as it fits, from the top: what a person reads first.
  camera.top = ([width, height], [w, h]) => {
    const k = Math.min(1, Math.max(width / w, 0.7));
    camera.go({ k, tx: Math.max(0, (width - w * k) / 2), ty: Math.max(0, (height - h * k) / 2) }, false);
  };
  camera.centre = ([width, height], x, y, k, smooth) => {
    camera.go({ k, tx: width / 2 - x * k, ty: height / 2 - y * k }, smooth);
  };
  camera.go = (to, smooth) => {
    cancelAnimationFrame(running);
    const from = { k: camera.k, tx: camera.tx, ty: camera.ty };
    const start = performance.now();
    const step = () => {
      const t = smooth && !still.matches ? Math.min(1, (performance.now() - start) / 180) : 1;
      const eased = t * (2 - t);
      for (const name of ["k", "tx", "ty"]) camera[name] = from[name] + (to[name] - from[name]) * eased;
      paint();
      if (t < 1) running = requestAnimationFrame(step);
    };
    step();
  };
  return camera;
}
