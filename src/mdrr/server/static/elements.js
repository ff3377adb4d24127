// Elements of a page, and the words on it in the language that is shown.

import { TEXTS, direction, interfaceLanguage } from "./texts.js";

// h("p", { class: "lead" }, "text", node, …): an element. `on…` attributes are listeners.
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// What is wrong with a form, [[field, sentence], …]: a summary at its head that leads to the fields, and a
// sentence at each. A problem of no field has null for it. An empty list clears all.
export function complain(form, problems) {
  form.querySelectorAll(".problem").forEach((each) => each.remove());
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  }
  if (problems.length === 0) return;
  const items = problems.map(([field, sentence]) => {
    if (field === null) return h("li", {}, sentence);
    const note = h("span", { class: "problem error", id: `${field.id}-problem` }, sentence);
    field.before(note);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", note.id);
    return h("li", {}, h("a", { href: `#${field.id}`, onclick: (event) => { event.preventDefault(); field.focus(); } }, sentence));
  });
  const summary = h("div", { class: "problem notice warning", role: "alert", tabindex: "-1" }, h("h3", {}, "There is a problem"), h("ul", {}, ...items));
  form.prepend(summary);
  summary.focus();
}

// The words of a page: its own (`own`, `say`) and the survey's (`theirs`, `text`).
export class Words {
  constructor(language, languages) {
    this.language = language;
    this.languages = languages;
    this.speaks = interfaceLanguage(language);
  }

  // One of the page's own texts, filled in.
  say(key, values = {}) {
    return TEXTS[this.speaks][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  own(tag, key, values = {}, attributes = {}) {
    return h(tag, { ...this.#marks(this.speaks), ...attributes }, this.say(key, values));
  }

  // One of the survey's texts: in the language shown, or else in the first that has it.
  text(texts) {
    return this.#found(texts)[1];
  }

  theirs(tag, texts, attributes = {}) {
    const [language, text] = this.#found(texts);
    return h(tag, { ...this.#marks(language), ...attributes }, text);
  }

  // Longer text: a paragraph for each block between empty lines.
  paragraphs(texts, attributes = {}) {
    const [language, text] = this.#found(texts);
    return text.split(/\n\s*\n/).filter((part) => part.trim())
      .map((part) => h("p", { ...this.#marks(language), ...attributes }, part.trim()));
  }

  // A number that is an upper bound, rounded up to one decimal; from 1,000 on to none.
  atMost(value) {
    if (!Number.isFinite(value)) return "∞";
    const unit = value < 1000 ? 10 : 1;
    return this.number(Math.ceil(value * unit - 1e-9) / unit);
  }

  // A probability as cases out of 100, or of a larger power of ten; "about" unless it is that to
  // 0.1 %. The same in Python: mdrr.privacy.times_in.
  cases(probability) {
    const scarce = Math.min(probability, 1 - probability);
    for (let base = 100; base <= 1e15; base *= 10) {
      const times = Math.round(probability * base);
      const error = Math.abs(times / base - probability);
      if ((times > 0 && times < base && error <= 0.02 * scarce) || scarce === 0) {
        const number = this.number(times);
        return { chance: error <= 1e-3 * scarce ? number : this.say("about", { number }), base: this.number(base) };
      }
    }
    return { chance: this.number(Math.round(probability) * 100), base: this.number(100) };
  }

  // A probability that is an upper bound as a number out of 100, rounded up.
  percent(probability) {
    const digits = probability > 0.99 ? 100 : 1;
    return this.number(Math.ceil(probability * 100 * digits - 1e-9) / digits);
  }

  number(value, options = { maximumFractionDigits: 2 }) {
    return new Intl.NumberFormat(this.speaks, options).format(value);
  }

  // The survey with bins in words, such as "18 to 64", where it gives no words of its own.
  withBins(survey, design) {
    const spoken = (question) => {
      const { edges, categories } = design.attributes.find((a) => a.name === question.name);
      if (!edges) return question;
      const labels = question.labels.map((texts, k) => Object.fromEntries(Object.entries(texts).map(
        ([language, text]) => [language, k < edges.length - 1 && text === categories[k] ? binText(edges.map(Number), k, language) : text])));
      return { ...question, labels };
    };
    return { ...survey, questions: survey.questions.map(spoken) };
  }

  #found(texts) {
    if (typeof texts !== "object" || texts === null) return [this.language, String(texts ?? "")];
    const language = [this.language, ...this.languages].find((each) => texts[each]);
    return language === undefined ? [this.language, ""] : [language, texts[language]];
  }

  #marks(language) {
    return language === this.language ? {} : { lang: language, dir: direction(language) };
  }
}

// A bin in words. Between whole edges that are at least 2 apart people answer in whole numbers. The
// isolating characters keep it together in a line of the other direction.
function binText(edges, k, language) {
  const speaks = interfaceLanguage(language);
  const last = k === edges.length - 2;
  const whole = edges.every((edge, i) => Number.isInteger(edge) && (i === 0 || edge - edges[i - 1] >= 2));
  const number = (value) => new Intl.NumberFormat(speaks, { maximumFractionDigits: 20, useGrouping: "min2" }).format(value);
  const high = whole && !last ? edges[k + 1] - 1 : edges[k + 1];
  const key = whole ? "binTo" : last ? "binUpTo" : "binUnder";
  const text = TEXTS[speaks][key].replace("{low}", number(edges[k])).replace("{high}", number(high));
  return `\u2068${text}\u2069`;
}
