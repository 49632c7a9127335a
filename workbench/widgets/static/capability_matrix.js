// Facts about execution providers: operators down, providers across; a cell says where its fact is from.
import { breakable, h, listeners, OWN_KEYS, plural, shorten, status, tell } from "./dom.js";
import { gridKeys, keepFocus } from "./grid.js";

const EP = 0, KIND = 1, OP = 2, FEATURE = 3, DTYPE = 4, HOLDS = 5, SURE = 6, CHECKED = 7, SOURCE = 8, SWITCHES = 9;
const SIGNS = { yes: "✓", no: "−", must: "✕" };
const LETTERS = { measured: "m", recorded: "r", documented: "d" };
const SURENESS = { measured: "ran here", recorded: "read from a shipped build's kernel table", documented: "read only" };

function factState(fact) {
  return fact[KIND] === "forbidden" ? "must" : fact[HOLDS] ? "yes" : "no";
}

function factRow(fact) {
  if (fact[KIND] === "computes") return "computes: MatMul and elementwise";
  return fact[OP] + (fact[FEATURE] ? ` + ${fact[FEATURE]}` : "") + (fact[KIND] === "forbidden" ? ": must not remain" : "");
}

function factWords(fact) {
  const what = fact[KIND] === "computes" ? "computing" : fact[KIND] === "feature" ? `${fact[FEATURE]} of ${fact[OP]}` : fact[OP];
  const no = fact[KIND] === "feature" ? "is not known to work" : "does not run";
  const state = { yes: fact[KIND] === "feature" ? "works" : "runs", no, must: "must not remain" }[factState(fact)];
  return `${fact[EP]} in ${fact[DTYPE]}: ${what} ${state}`;
}

function switchWords(fact) {
  const signs = { "+": "planned because it is so", "−": "not planned because it is so", "~": "planned either way, with other features" };
  return fact[SWITCHES].map((text) => h("li", {}, h("code", {}, text.slice(1)), ` ${text[0]} ${signs[text[0]]}`));
}

function capabilityChoice(label, all, names, value) {
  return h("select", { "aria-label": label, ...OWN_KEYS }, h("option", { value: "" }, all),
    names.map((name) => h("option", { value: name, selected: name === value }, name)));
}

function capabilityRender({ model, el }) {
  const { execution_providers: providers, dtypes, rules, sources, facts } = model.get("_facts");
  const life = listeners(model);
  const said = status();
  const dtype = h("select", { "aria-label": "Dtype", ...OWN_KEYS }, dtypes.map((word) => h("option", { value: word, selected: word === model.get("dtype") }, word)));
  const provider = capabilityChoice("Execution provider", "all", providers, model.get("execution_provider"));
  const rule = capabilityChoice("Switches the rule", "any or none", rules, model.get("rule"));
  const query = h("input", { type: "search", "aria-label": "Part of an operator's name", value: model.get("query"), placeholder: "Attention", ...OWN_KEYS });
  const table = h("table", { "aria-label": "Facts by operator and execution provider" });
  const details = h("div", { class: "wb-cap-details", role: "group", "aria-label": "The chosen fact" });
  const cells = "td button";
  const settle = gridKeys(life, table, cells);
  let only = model.get("execution_provider");

  const fits = (fact) => fact[DTYPE] === dtype.value && (!only || fact[EP] === only)
    && (!rule.value || fact[SWITCHES].some((text) => text.slice(1) === rule.value))
    && fact[OP].toLowerCase().includes(query.value.trim().toLowerCase());
  const keyOf = (fact) => `${factRow(fact)} ${fact[EP]}`;

  function choose(fact) {
    model.set("chosen", factRow(fact));
    model.set("op", fact[OP]);
    model.set("execution_provider", fact[EP]);
    model.save_changes();
    draw();
  }

  function cellOf(fact) {
    if (!fact) return h("td", { class: "wb-cap-none" }, h("span", { "aria-label": "no fact" }, "·"));
    const on = model.get("chosen") === factRow(fact) && model.get("execution_provider") === fact[EP];
    const many = fact[SWITCHES].length;
    return h("td", {}, h("button", {
      type: "button", tabindex: "-1", class: `wb-cap-${factState(fact)}`, "aria-pressed": String(on), "data-key": keyOf(fact),
      "aria-label": `${factWords(fact)}; ${fact[SURE]}${many ? `; switches ${plural(many, "rule")}` : ""}`, onclick: () => choose(fact),
    }, h("span", { class: "wb-cap-sign" }, SIGNS[factState(fact)]), ` ${LETTERS[fact[SURE]] || ""}`, many ? h("span", { class: "wb-cap-many" }, ` ${many}`) : null));
  }

  function draw() {
    const kept = facts.filter(fits);
    const names = providers.filter((name) => !only || name === only);
    const rows = new Map();
    for (const fact of kept) {
      if (!rows.has(factRow(fact))) rows.set(factRow(fact), new Map());
      rows.get(factRow(fact)).set(fact[EP], fact);
    }
    const order = [...rows.keys()].sort((a, b) => rank(rows.get(a)) - rank(rows.get(b)));
    keepFocus(table, cells, () => table.replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "fact"), names.map((name) => h("th", { scope: "col", title: name }, shorten(name, 24))))),
      h("tbody", {}, order.map((key) => h("tr", {}, h("th", { scope: "row", title: key }, breakable(shorten(key, 200))),
        names.map((name) => cellOf(rows.get(key).get(name))))))));
    settle();
    table.hidden = !kept.length;
    said.textContent = kept.length ? `${plural(kept.length, "fact")} in ${dtype.value || "no dtype"}, ${plural(order.length, "row")}`
      : facts.length ? "No fact fits these filters." : "There are no facts to show.";
    tellDetails();
  }

  const firsts = new Map();
  facts.forEach((fact, i) => { if (!firsts.has(fact[OP])) firsts.set(fact[OP], i); });
  function rank(row) {
    const fact = row.values().next().value;
    return fact[KIND] === "computes" ? -1 : firsts.get(fact[OP]) * 100 + (fact[KIND] === "kernel" ? 0 : fact[KIND] === "forbidden" ? 1 : 2);
  }

  function tellDetails() {
    const fact = facts.find((one) => one[DTYPE] === dtype.value && one[EP] === model.get("execution_provider") && factRow(one) === model.get("chosen"));
    if (!fact) {
      details.replaceChildren(h("p", { class: "wb-quiet" }, "Choose a cell to see where its fact is from and which rules it switches."));
      return;
    }
    const switches = switchWords(fact);
    details.replaceChildren(
      h("h3", {}, `${factWords(fact)}.`),
      h("p", {}, `${fact[SURE]}${SURENESS[fact[SURE]] ? ` (${SURENESS[fact[SURE]]})` : ""}${fact[CHECKED] ? `, looked at on ${fact[CHECKED]}` : ""}: `, breakable(sources[fact[SOURCE]])),
      switches.length ? h("ul", {}, switches) : h("p", { class: "wb-quiet" }, "No plan depends on it."));
  }

  life.add(dtype, "change", () => { tell(model, "dtype", dtype.value); draw(); });
  life.add(provider, "change", () => { only = provider.value; tell(model, "execution_provider", only); draw(); });
  life.add(rule, "change", () => { tell(model, "rule", rule.value); draw(); });
  life.add(query, "input", () => { tell(model, "query", query.value); draw(); });
  life.on("dtype", () => { dtype.value = model.get("dtype"); draw(); });
  life.on("rule", () => { rule.value = rules.includes(model.get("rule")) ? model.get("rule") : ""; draw(); });
  life.on("query", () => { if (query.value !== model.get("query")) { query.value = model.get("query"); draw(); } });
  life.on("chosen", draw);
  life.on("execution_provider", draw);
  draw();
  const legend = h("p", { class: "wb-quiet" }, "✓ runs, − does not, ✕ must not remain, · no fact; m measured, r recorded, d documented; a number: how many rules it switches.");
  const root = h("div", { class: "wb-view wb-cap", role: "group", "aria-label": "Facts about execution providers" },
    h("div", { class: "wb-bar" }, h("label", {}, "Dtype ", dtype), h("label", {}, "Provider ", provider), h("label", {}, "Switches ", rule), h("label", {}, "Operator ", query)),
    said, h("div", { class: "wb-scroll wb-cap-table" }, table), legend, details);
  el.append(root);
  return () => { life.close(); root.remove(); };
}

export default { render: capabilityRender };
