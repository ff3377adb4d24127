// The builder of count queries: conditions joined by "and" or "or", written as an expression.

import { h } from "./elements.js";

const KEYWORDS = new Set(("False None True and as assert async await break class continue def del elif else except finally "
  + "for from global if import in is lambda nonlocal not or pass raise return try while with yield").split(" "));

const named = (name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !KEYWORDS.has(name) ? name : `\`${name}\``);

function literal(label) {
  if (typeof label === "boolean") return label ? "True" : "False";
  if (typeof label === "number") return String(label);
  return label.includes("'") || label.includes("\\") ? JSON.stringify(label) : `'${label}'`;
}

// One condition as an expression; none where no category is chosen.
export function condition(name, labels, not = false) {
  if (labels.length === 0) return "";
  if (labels.length === 1) return `${named(name)} ${not ? "!=" : "=="} ${literal(labels[0])}`;
  return `${named(name)} ${not ? "not in" : "in"} (${labels.map(literal).join(", ")})`;
}

// attributes: [{ name, categories, question, labels }] with texts to show. `asked(where, of)` is called on submit.
export function builder(form, attributes, marks, asked) {
  const conditions = h("div", { class: "conditions" });
  const join = h("select", { id: "join" }, h("option", { value: " and " }, "all of these hold"),
    h("option", { value: " or " }, "any of these holds"));
  const joined = h("p", { class: "fields", hidden: true }, h("label", {}, "People for whom ", join));
  const where = h("input", {
    type: "text", id: "where", spellcheck: "false", autocomplete: "off", autocapitalize: "off", dir: "ltr", maxlength: "10000",
  });
  const of = h("select", { id: "of" }, h("option", { value: "people" }, "the people who answered"),
    h("option", { value: "population" }, "the population they are a sample of"));
  let serial = 0;

  function write() {
    const written = [...conditions.children].map((each) => each.written()).filter(Boolean);
    joined.hidden = conditions.children.length < 2;
    where.value = written.join(join.value);
  }

  function add(focus = true) {
    const number = ++serial;
    const select = h("select", { "aria-label": "Question" },
      ...attributes.map(({ question }, i) => h("option", { value: i, ...marks }, question)));
    select.value = String((number - 1) % attributes.length);
    const not = h("select", { "aria-label": "Is or is not" }, h("option", { value: "" }, "is one of"), h("option", { value: "not" }, "is none of"));
    const boxes = h("div", { class: "boxes" });
    const drop = h("button", { type: "button", class: "quiet", onclick: () => { box.remove(); write(); more.focus(); } }, "Remove");
    const legend = h("legend", {}, `Condition ${number}`);
    const box = h("fieldset", { class: "condition" }, legend, h("div", { class: "fields" }, select, not, drop), boxes);
    function fill() {
      const { labels } = attributes[select.value];
      boxes.replaceChildren(...labels.map((label, i) => h("label", marks, h("input", { type: "checkbox", value: i, onchange: write }), ` ${label}`)));
      write();
    }
    box.written = () => {
      const { name, categories } = attributes[select.value];
      const chosen = [...boxes.querySelectorAll("input:checked")].map((each) => categories[each.value]);
      return condition(name, chosen, not.value === "not");
    };
    select.addEventListener("change", fill);
    not.addEventListener("change", write);
    conditions.append(box);
    fill();
    if (focus) select.focus();
  }

  const more = h("button", { type: "button", class: "quiet", onclick: () => add() }, "Add a condition");
  join.addEventListener("change", write);
  add(false);
  form.replaceChildren(conditions, joined, h("p", { class: "buttons" }, more),
    h("p", {}, h("label", { for: "where" }, "Or write it yourself"), where),
    h("p", { class: "fields" }, h("label", {}, "Count of ", of), h("button", { class: "main", type: "submit" }, "Count")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    asked(where.value.trim(), of.value);
  });
}
