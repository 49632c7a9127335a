// A field for each choice of a step, with its label; what a person enters goes out as text, number, truth or null.
import { h, OWN_KEYS } from "./dom.js";

const FIELDS = {
  model: { label: "Model", wide: true },
  load_weights: { label: "Load weights", kind: "checkbox" },
  execution_provider: { label: "Execution provider", kind: "select" },
  dtype: { label: "Dtype", kind: "select", empty: "provider's default" },
  cache_length: { label: "Cache length", kind: "number", empty: "grows" },
  last_token_logits: { label: "Logits of the last token only", kind: "checkbox" },
  padding: { label: "Padding", kind: "select" },
  folder: { label: "Folder", wide: true },
  overwrite: { label: "Replace a package that is there", kind: "checkbox" },
  window_cache: { label: "Keep sliding windows only", kind: "checkbox" },
  tokenizer: { label: "Tokenizer's folder", empty: "the model's own" },
  prompt: { label: "Prompt", wide: true },
  max_new_tokens: { label: "Most new tokens", kind: "number" },
};
const NULLABLE = new Set(["dtype", "cache_length", "tokenizer"]);

function entered(name, control) {
  if (control.type === "checkbox") return control.checked;
  if (control.value === "" && NULLABLE.has(name)) return null;
  return control.type === "number" && control.value !== "" ? Number(control.value) : control.value;
}

function control(name, field, options, changed) {
  const made = field.kind === "select"
    ? h("select", OWN_KEYS, (options[name] || []).map((value) => h("option", { value }, value || field.empty)))
    : h("input", { type: field.kind || "text", min: field.kind === "number" ? 1 : undefined, step: field.kind === "number" ? 1 : undefined,
      placeholder: field.empty, spellcheck: "false", autocomplete: "off", ...OWN_KEYS });
  made.name = name;
  const enter = () => changed(name, entered(name, made));
  made.addEventListener("change", enter);
  made.addEventListener("keydown", (event) => { if (event.key === "Enter" && made.type !== "checkbox") enter(); });
  return made;
}

export function choiceFields(changed) {
  const element = h("div", { class: "wb-fields" });
  let shown = "", controls = {};

  // Fields are made anew only for another step, so that nobody loses the one that is written in.
  function show(names, values, options, disabled) {
    const key = JSON.stringify([names, options]);
    if (key !== shown) {
      shown = key;
      controls = Object.fromEntries(names.map((name) => [name, control(name, FIELDS[name], options, changed)]));
      element.replaceChildren(...names.map((name) => {
        const tick = controls[name].type === "checkbox";
        return h("label", { class: `wb-field${FIELDS[name].wide ? " wb-wide" : ""}${tick ? " wb-tick" : ""}` },
          tick ? [controls[name], FIELDS[name].label] : [h("span", {}, FIELDS[name].label), controls[name]]);
      }));
    }
    for (const [name, one] of Object.entries(controls)) {
      one.disabled = disabled;
      if (one.type === "checkbox") one.checked = Boolean(values[name]);
      else if (one !== document.activeElement || one.disabled) one.value = values[name] ?? "";
    }
  }

  return { element, show };
}
