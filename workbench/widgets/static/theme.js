// Colours at the time of painting, so that a switch of the theme is followed.
import { WORDS, FIRST, SECOND } from "./fold.js";

function parse(text) {
  const context = (parse.context ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true }));
  context.fillStyle = "#888";
  context.fillStyle = text;
  context.clearRect(0, 0, 1, 1);
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data.subarray(0, 3)];
}

function mix(one, other, share) {
  return `rgb(${one.map((c, i) => Math.round(c * share + other[i] * (1 - share))).join()})`;
}

export function themeOf(root) {
  const css = getComputedStyle(root);
  const read = (name) => parse(css.getPropertyValue(`--wb-${name}`).trim());
  const [page, ink] = [read("page"), read("ink")];
  const own = WORDS.map(read);
  const [same, , removed, added] = own;
  const dark = page[0] + page[1] + page[2] < 384;
  const plain = (c) => mix(c, page, 1);
  return {
    page: plain(page), ink: plain(ink), quiet: plain(read("quiet")), accent: plain(read("focus")),
    edge: own.map(plain), fill: own.map((c, i) => mix(c, page, i ? (dark ? 0.3 : 0.14) : 0.1)),
    onEdge: ["#fff", "#111", "#111", "#fff"],
    chip: own.map((c) => mix(c, ink, dark ? 0.62 : 0.72)),
    frames: [mix(ink, page, dark ? 0.07 : 0.035), plain(page)], frameEdge: mix(ink, page, 0.2),
    line: { 1: mix(same, page, 0.85), [FIRST]: plain(removed), [SECOND]: dark ? mix(added, ink, 0.75) : plain(added) },
    font: css.fontFamily,
  };
}

// Call `changed` whenever the colours of the page may have: Lab's theme, or the system's.
export function followTheme(undo, changed) {
  const watcher = new MutationObserver(() => [0, 300].forEach((delay) => setTimeout(changed, delay)));
  for (const node of [document.body, document.documentElement]) watcher.observe(node, { attributes: true });
  undo.later(() => watcher.disconnect());
  undo.add(matchMedia("(prefers-color-scheme: dark)"), "change", changed);
}
