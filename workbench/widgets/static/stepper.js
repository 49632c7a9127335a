// The way from a model's name to an answer: steps with their state, their choices, their reports and their Python.
import { h, listeners, OWN_KEYS, plural, shorten, status, tell } from "./dom.js";
import { choiceFields } from "./step_fields.js";

const SIGNS = { "not run": "○", running: "…", done: "✓", stale: "~", failed: "✗" };

function took(seconds) {
  return seconds === null || seconds === undefined ? "" : seconds < 0.095 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}

// Where the page may not use the clipboard, the text is selected for the person to copy.
async function copyText(block) {
  try {
    await navigator.clipboard.writeText(block.textContent);
    return "Copied.";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(block);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return "The text is selected: press Ctrl+C.";
  }
}

function stepButton(step, chosen, open) {
  const facts = [step.state, took(step.seconds), step.size].filter(Boolean).join(", ");
  return h("li", {}, h("button", { type: "button", class: "wb-stage", "data-state": step.state, "data-step": step.name,
    "aria-current": chosen ? "step" : undefined, tabindex: chosen ? 0 : -1, "aria-label": `${step.title}: ${facts}`, onclick: () => open(step.name) },
  h("span", { class: "wb-stage-title" }, h("span", { class: "wb-sign", "aria-hidden": "true" }, SIGNS[step.state]), ` ${step.title}`),
  h("span", { class: "wb-stage-state" }, step.state, step.seconds === null ? "" : ` · ${took(step.seconds)}`),
  h("span", { class: "wb-quiet wb-stage-size" }, step.size ? shorten(step.size, 40) : "–")));
}

// A line of each report where the kernel shows the whole below, else all of it.
function stepReports(step, answer, alive) {
  if (step.state === "failed") return [h("div", { class: "wb-problem", role: "alert" }, h("strong", {}, "✗ Failed. "), step.problem)];
  const old = step.state === "stale" ? [h("p", { class: "wb-quiet" }, "~ Stale: made before a choice or an earlier step changed.")] : [];
  if (step.state === "running" && answer) return [h("pre", { class: "wb-says" }, answer)];
  if (!step.reports.length) return [h("p", { class: "wb-quiet" }, step.state === "running" ? "Running …" : "Not run yet.")];
  return [...old, h("pre", { class: "wb-says", tabindex: 0, "aria-label": "Report" }, step.reports.map((text) => (alive ? text.split("\n")[0] : text)).join("\n"))];
}

function stepperRender({ model, el }) {
  const life = listeners(model);
  const said = status();
  const list = h("ol", { class: "wb-stages", "aria-label": "Steps" });
  const code = h("pre", { class: "wb-code wb-python", tabindex: 0, "aria-label": "Python that does the same", ...OWN_KEYS });
  const parts = { heading: h("h3", {}), does: h("p", { class: "wb-quiet" }), reports: h("div", {}), count: h("span", { class: "wb-quiet" }) };
  const ask = (what) => model.send({ do: what, step: model.get("step") });
  const button = (text, what, label) => h("button", { type: "button", onclick: () => ask(what), title: label }, text);
  const all = button("Run all", "all", "Run what is not done, to the answer");
  const cancel = button("Cancel", "cancel", "Stop; what was done stays");
  const one = button("Run this step", "step", "What is missing before it, and this step again");
  const from = button("Run from here", "from", "This step again and all after it");
  const copy = h("button", { type: "button", onclick: async () => { said.textContent = await copyText(code); } }, "Copy Python");
  const fields = choiceFields((name, value) => {
    if (model.get("choices")[name] !== value) tell(model, "choices", { ...model.get("choices"), [name]: value });
  });
  const current = () => model.get("_facts").steps.find((step) => step.name === model.get("step"));
  const open = (name) => tell(model, "step", name);

  function drawList() {
    const focused = list.contains(document.activeElement);
    list.replaceChildren(...model.get("_facts").steps.map((step) => stepButton(step, step.name === model.get("step"), open)));
    if (focused) list.querySelector("[aria-current]").focus({ preventScroll: true });
  }

  function draw() {
    const facts = model.get("_facts"), step = current();
    drawList();
    parts.heading.textContent = step.title;
    parts.does.textContent = step.does;
    parts.count.textContent = `${facts.done} of ${plural(facts.steps.length, "step")} done`;
    parts.reports.replaceChildren(...stepReports(step, model.get("answer"), model.get("alive")));
    if (code.textContent !== step.code) code.textContent = step.code;
    settle();
  }

  function settle() {
    const busy = model.get("busy"), alive = model.get("alive");
    for (const each of [all, one, from]) each.disabled = busy;
    cancel.disabled = !busy;
    for (const each of [all, one, from, cancel]) each.hidden = !alive;
    fields.show(current().choices, model.get("choices"), model.get("_facts").options, busy || !alive);
  }

  const root = h("div", { class: "wb-view wb-stepper", role: "group", "aria-label": "Pipeline, step by step" },
    h("div", { class: "wb-bar" }, all, cancel, parts.count, said), list,
    h("div", { class: "wb-stage-body" },
      h("section", { class: "wb-stage-left", "aria-label": "Step" }, parts.heading, parts.does, fields.element,
        h("div", { class: "wb-bar" }, one, from), parts.reports),
      h("section", { class: "wb-stage-right", "aria-label": "Python" },
        h("div", { class: "wb-bar" }, h("h3", {}, "The same in Python"), copy), code)));
  life.add(list, "keydown", (event) => {
    const names = model.get("_facts").steps.map((step) => step.name), at = names.indexOf(model.get("step"));
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (names[to]) open(names[to]);
  });
  life.on("_facts", draw);
  life.on("step", draw);
  life.on("choices", settle);
  life.on("busy", settle);
  life.on("alive", settle);
  life.on("answer", () => parts.reports.replaceChildren(...stepReports(current(), model.get("answer"), model.get("alive"))));
  life.on("said", () => { said.textContent = model.get("said"); });
  said.textContent = model.get("said");
  draw();
  el.append(root);
  return () => { life.close(); root.remove(); };
}

export default { render: stepperRender };
