// What is looked for: search, filters by rule, operator and status, and the differences one after the other.
import { h, number } from "./dom.js";
import { SIGNS, WORDS, SAME } from "./fold.js";

// Leaves to stop at on the way through the differences: one for each group, and each other difference.
export function stopsOf(scene) {
  const stops = [];
  const known = new Set();
  for (let leaf = 0; leaf < scene.leaves; leaf++) {
    if (scene.status[leaf] === SAME || known.has(scene.group[leaf])) continue;
    if (scene.group[leaf] < 0) {
      stops.push(leaf);
      continue;
    }
    known.add(scene.group[leaf]);
    const { before, after } = JSON.parse(scene.text("groups", scene.group[leaf]));
    stops.push(after.at(-1) ?? before[0]);
  }
  return stops.sort((a, b) => a - b);
}

export function rulesOf(scene) {
  const counts = new Map();
  for (const rule of scene.rules.all()) for (const word of new Set(rule.split(" "))) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

// Leaves that every filter lets through, or null where nothing is filtered.
export function matches(scene, { rule, op, statuses, text }) {
  if (!rule && !op && !statuses.size && !text) return null;
  const wanted = text.toLowerCase();
  const hits = [];
  for (let leaf = 0; leaf < scene.leaves; leaf++) {
    if (statuses.size && !statuses.has(scene.status[leaf])) continue;
    if (rule && !hasRule(scene, leaf, rule)) continue;
    if (op && ![scene.text("op", leaf), scene.told(leaf).op].includes(op)) continue;
    if (text && !haystack(scene, leaf).includes(wanted)) continue;
    hits.push(leaf);
  }
  return hits;
}

function hasRule(scene, leaf, rule) {
  const group = scene.group[leaf];
  if (group < 0) return false;
  const text = scene.text("rules", group);
  return text === rule || text.split(" ").includes(rule);
}

function haystack(scene, leaf) {
  const known = (scene.haystacks ??= []);
  return (known[leaf] ??= `${scene.op.get(leaf)}\n${scene.name.get(leaf)}\n${scene.scope.get(leaf)}`.toLowerCase());
}

// The bar above the picture. act: {filter(), step(by), mode(name), zoom(factor), fit(), unfold(all)}
export function bar(view, act) {
  const { filters, scene, facts } = view;
  const press = (text, label, action, more = {}) => h("button", { "aria-label": label, title: label, onclick: action, ...more }, text);
  const search = h("input", {
    type: "search", placeholder: "Search", "aria-label": "Search operators, names and scopes", class: "wb-search",
    oninput: () => ((filters.text = search.value.trim()), act.filter()),
    onkeydown: (event) => {
      if (event.key === "Enter") act.hit(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") act.focus();
    },
  });
  const found = h("span", { class: "wb-quiet wb-found" });
  const { one } = facts; // of one graph there are no differences to choose from
  const statuses = one ? [] : [2, 3, 1, 0].map((status) => {
    const button = press([h("span", { class: `wb-sign wb-is-${WORDS[status]}` }, SIGNS[status] || "="), ` ${number(facts.counts[status])} ${WORDS[status]}`],
      `Show only what is ${WORDS[status]}: ${facts.counts[status]}`, () => {
        if (!filters.statuses.delete(status)) filters.statuses.add(status);
        button.setAttribute("aria-pressed", filters.statuses.has(status));
        act.filter();
      }, { "aria-pressed": "false" });
    return button;
  });
  const rules = h("select", { "aria-label": "Filter by rule", onchange: () => act.rule(rules.value) },
    h("option", { value: "" }, "every rule"), rulesOf(scene).map(([rule, n]) => h("option", { value: rule }, `${rule.slice(0, 60)} × ${n}`)));
  const modes = (one ? [] : ["union", "panes"]).map((name) => press(name === "union" ? "One picture" : "Two panes", name === "union" ? "Both graphs in one picture" : "Both graphs side by side", () => act.mode(name), { "data-mode": name }));
  const element = h("div", { class: "wb-bar", role: "toolbar", "aria-label": "Graph" }, statuses, one ? null : rules, search, found,
    one ? null : [press("‹", "Previous difference (p)", () => act.step(-1)), press("›", "Next difference (n)", () => act.step(1))], modes,
    press("Unfold all", "Unfold everything", () => act.unfold(true)), press("Fold", "Fold as at first", () => act.unfold(false)),
    press("−", "Zoom out (−)", () => act.zoom(0.8)), press("+", "Zoom in (+)", () => act.zoom(1.25)), press("Fit", "Show all (0)", act.fit));
  const sync = (mode, hits) => {
    for (const button of modes) button.setAttribute("aria-pressed", button.dataset.mode === mode);
    rules.value = filters.rule;
    found.textContent = hits ? (hits.length ? `${number(hits.length)} found` : "nothing found") : "";
  };
  return { element, search, sync };
}
