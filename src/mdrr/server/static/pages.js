// The pages a respondent sees, one function each: (state, words, …, actions) to a list of nodes.
// The first heading, or the legend of a question, is what the page is called.

import { believed, cellsOf, chanceOfTruth, epsilon, epsilonOf, ratio } from "./risk.js";
import { outcomes } from "./randomize.js";
import { h } from "./elements.js";

const SHOWN = 6; // of the cells of a set

export function start({ survey, design, epsilon: most }, words, { limit, problem }, actions) {
  const section = (key, texts) => (words.text(texts)
    ? [words.own("h2", key), ...words.paragraphs(texts)] : []);
  const open = survey.questions.filter((q) => isPublic(design, q.name)).map((q) => words.text(q.text));
  const field = h("input", {
    id: "limit", name: "limit", type: "text", inputmode: "decimal", autocomplete: "off", value: limit,
    "aria-describedby": "limit-hint", "aria-invalid": problem ? "true" : false,
  });
  return [
    problem ? errorSummary(words, problem, field) : null,
    languages(survey.languages, words, actions.speak),
    words.theirs("h1", survey.title),
    ...words.paragraphs(survey.introduction, { class: "lead" }),
    countText(design, words),
    words.own("h2", "protection"),
    words.own("p", "protection1"),
    words.own("p", "protection2"),
    open.length ? words.own("p", "publicOnes", { names: open.join(" · ") }) : null,
    ...section("why", survey.purpose),
    ...section("who", survey.contact),
    ...section("kept", survey.retention),
    h("form", { novalidate: true, onsubmit: prevented(() => actions.begin(field.value)) },
      h("details", { open: Boolean(limit || problem) },
        words.own("summary", "limit"),
        words.own("label", "limitLabel", {}, { for: "limit" }),
        words.own("p", "limitHint", { epsilon: words.number(upwards(most)) }, { id: "limit-hint", class: "hint" }),
        field),
      words.own("button", "start", {}, { class: "main" })),
  ].filter(Boolean);
}

// ε as shown: two decimals, rounded up.
export function upwards(value) {
  return Math.ceil(value * 100 - 1e-9) / 100;
}

function countText(design, words) {
  const counts = new Set(design.questionnaires.map((q) => q.clusters.flatMap((c) => c.attributes).length));
  const total = design.attributes.length;
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (least < most) return words.own("p", "countBetween", { least, most, total });
  const [count] = counts;
  return words.own("p", count < total ? "countPicked" : "count", { count, total });
}

function languages(codes, words, speak) {
  if (codes.length < 2) return null;
  return h("nav", { "aria-label": words.say("language"), class: "languages" },
    ...codes.map((code) => {
      const name = new Intl.DisplayNames([code], { type: "language", fallback: "code" }).of(code);
      const current = code === words.language;
      return h("button", { type: "button", lang: code, class: "link", "aria-current": current ? "true" : false,
        onclick: () => speak(code) }, name.charAt(0).toLocaleUpperCase(code) + name.slice(1));
    }));
}

export function question(state, words, { at, chosen, problem }, actions) {
  const { design, asked } = state;
  const { name, text, labels } = asked[at];
  const radios = labels.map((_, i) => h("input", {
    type: "radio", name: "answer", id: `answer-${i}`, value: i, checked: i === chosen,
    "aria-describedby": problem ? "answer-problem" : false,
  }));
  const answer = () => radios.findIndex((radio) => radio.checked);
  return [
    problem ? errorSummary(words, problem, radios[0]) : null,
    backLink(words, actions),
    h("form", { novalidate: true, autocomplete: "off", onsubmit: prevented(() => actions.answer(at, answer())) },
      h("fieldset", { "aria-describedby": "answer-hint", class: problem ? "wrong" : false },
        h("legend", {},
          words.own("span", "progress", { n: at + 1, total: asked.length }, { class: "caption" }),
          h("h1", { tabindex: "-1" }, words.theirs("span", text))),
        words.own("p", isPublic(design, name) ? "open" : "randomized", {}, { class: "hint", id: "answer-hint" }),
        problem ? h("p", { class: "error", id: "answer-problem" }, problem) : null,
        ...labels.map((label, i) => h("div", { class: "choice" },
          radios[i], words.theirs("label", label, { for: `answer-${i}` })))),
      words.own("button", "next", {}, { class: "main" })),
  ].filter(Boolean);
}

export function check({ asked, answers }, words, actions) {
  return [
    backLink(words, actions),
    words.own("h1", "check"),
    words.own("p", "nothingSent"),
    h("dl", { class: "summary" }, ...asked.map(({ name, text, labels }, i) => h("div", {},
      words.theirs("dt", text),
      words.theirs("dd", labels[answers.get(name)]),
      h("dd", { class: "action" }, h("button", { type: "button", class: "link", onclick: () => actions.change(i) },
        words.own("span", "change"),
        words.own("span", "changeOf", { question: words.text(text) }, { class: "hidden" })))))),
    words.own("button", "next", {}, { class: "main", type: "button", onclick: actions.next }),
  ];
}

export function risk(state, words, { problem }, actions) {
  const { design, chosen, survey, info } = state;
  const questionnaire = design.questionnaires[chosen];
  const total = epsilonOf(questionnaire);
  const box = h("input", { type: "checkbox", id: "agree", name: "agree",
    "aria-describedby": problem ? "agree-problem" : false });
  return [
    problem ? errorSummary(words, problem, box) : null,
    backLink(words, actions),
    words.own("h1", "before"),
    words.own("p", "beforeText", {}, { class: "lead" }),
    ...questionnaire.clusters.map((cluster) => h("section", { class: "card" },
      ...cluster.attributes.map((name) => words.theirs("h2", find(survey, name).text)),
      ...risks(cluster, words))),
    h("section", { class: "card strong" },
      words.own("h2", "all"),
      total === Infinity
        ? words.own("p", "riskNoLimit")
        : words.own("p", "allText", { factor: words.atMost(Math.exp(total)), epsilon: words.number(upwards(total)),
          chance: words.percent(believed(0.5, total)) })),
    ...(info.invitations === "blind" ? [words.own("h2", "apart"), words.own("p", "apartText")] : []),
    words.own("h2", "consent"),
    ...words.paragraphs(survey.consent),
    h("form", { novalidate: true, autocomplete: "off", onsubmit: prevented(() => actions.send(box.checked)) },
      h("div", { class: problem ? "wrong" : false },
        problem ? h("p", { class: "error", id: "agree-problem" }, problem) : null,
        h("div", { class: "choice" }, box, words.own("label", words.text(survey.consent) ? "agreeThis" : "agree", {}, { for: "agree" }))),
      words.own("button", "send", {}, { class: "main" })),
  ].filter(Boolean);
}

function risks({ attributes, matrix }, words) {
  if (matrix.kind === "public") return [words.own("p", "riskPublic")];
  const chance = chanceOfTruth(matrix);
  const key = { constant: "riskCell", dense: chance === null ? "riskSign" : "riskCell",
    banded: "riskBand", subset: "riskSet" }[matrix.kind];
  const worst = epsilon(ratio(matrix));
  return [
    attributes.length > 1 ? words.own("p", "together") : null,
    words.own("p", key, { ...words.cases(chance ?? 0), codes: words.number(outcomes(matrix)) }),
    worst === Infinity
      ? words.own("p", "riskNoLimit")
      : words.own("p", "riskOdds", { factor: words.atMost(Math.exp(worst)), chance: words.percent(believed(0.5, worst)) }),
  ].filter(Boolean);
}

// After drawing: what left the device beside what was answered. `outcome` says whether it arrived.
export function sent(state, words, { outcome }, actions) {
  const { design, report } = state;
  const head = { received: "received", sending: "sending", waitingText: "waiting", busyText: "waiting" }[outcome] ?? "failed";
  const retry = head === "waiting";
  const left = head === "received" || head === "failed";
  const mine = state.answers.size > 0; // answered in this tab; whoever opens the page later is not shown it
  return [
    h("div", { class: `panel ${head}` },
      words.own("h1", head),
      retry || head === "failed" ? words.own("p", outcome) : null,
      retry ? words.own("button", "again", {}, { type: "button", class: "main", onclick: () => actions.again() }) : null),
    ...(mine ? [
      words.own("h2", left ? "left" : "leftLater"),
      ...design.questionnaires[report.questionnaire].clusters.map(
        (cluster, i) => exchange(cluster, report.codes[i], left ? "sent" : "toSend", state, words)),
      words.own("p", "once", {}, { class: "notice" }),
      h("details", {}, words.own("summary", "exact"),
        h("pre", { dir: "ltr", lang: "zxx", tabindex: "0" }, h("code", {}, JSON.stringify(report, null, 1)))),
    ] : []),
  ].filter(Boolean);
}

function exchange({ attributes, matrix }, code, label, { survey, answers }, words) {
  const asked = attributes.map((name) => find(survey, name));
  const sizes = asked.map((q) => q.labels.length);
  const cells = cellsOf(matrix, code);
  const labels = (cell) => unravel(cell, sizes).map((k, j) => words.text(asked[j].labels[k]));
  const pair = (question, answered, sentAs) => h("div", { class: "exchange" },
    question,
    h("dl", {},
      answered ? h("div", {}, words.own("dt", "answered"), answered) : null,
      sentAs ? h("div", {}, words.own("dt", label), h("dd", { class: "out" }, sentAs)) : null));
  const mine = ({ name, labels: all }) => (answers.has(name) ? words.theirs("dd", all[answers.get(name)]) : null);
  if (cells !== null && cells.length === 1 && !["banded", "subset"].includes(matrix.kind)) {
    const parts = labels(cells[0]);
    return h("section", { class: "card" },
      ...asked.map((q, j) => pair(words.theirs("h3", q.text), mine(q), parts[j])),
      matrix.kind === "public" ? words.own("p", "open", {}, { class: "hint" }) : null);
  }
  const read = reading(matrix, code, cells, (cell) => labels(cell).join(" + "), words);
  if (asked.length === 1) {
    return h("section", { class: "card" }, pair(words.theirs("h3", asked[0].text), mine(asked[0]), read));
  }
  return h("section", { class: "card" },
    ...asked.map((q) => pair(words.theirs("h3", q.text), mine(q), null)), pair(null, null, read));
}

// A code in words, where it is not one cell.
function reading(matrix, code, cells, label, words) {
  if (cells === null || cells.length === 0) return words.say("sign", { code: words.number(code) });
  if (matrix.kind === "banded") {
    if (cells.length === 1) return label(cells[0]);
    return words.say("fromTo", { first: label(cells[0]), last: label(cells.at(-1)) });
  }
  const shown = cells.slice(0, SHOWN).map(label);
  if (cells.length > SHOWN) shown.push(words.say("more", { count: words.number(cells.length - SHOWN) }));
  return words.say("oneOf", { list: shown.join(" · ") });
}

// The code of each attribute in a cell, the first attribute most significant.
function unravel(cell, sizes) {
  const found = [];
  for (const size of [...sizes].reverse()) {
    found.unshift(cell % size);
    cell = (cell - (cell % size)) / size;
  }
  return found;
}

export function message(words, head, key) {
  return [h("div", { class: head === "stopped" ? "panel failed" : "panel" },
    words.own("h1", head), key ? words.own("p", key) : null)];
}

// Somebody answered here with another invitation.
export function other(words, actions) {
  return [h("div", { class: "panel" },
    words.own("h1", "already"), words.own("p", "otherText"),
    words.own("button", "somebodyElse", {}, { type: "button", class: "main", onclick: actions.next }))];
}

function errorSummary(words, problem, field) {
  const link = h("a", { href: `#${field.id}`, onclick: (event) => { event.preventDefault(); field.focus(); } }, problem);
  return h("div", { class: "problem", role: "alert", tabindex: "-1", "aria-labelledby": "problem-title" },
    words.own("h2", "problem", {}, { id: "problem-title" }), h("ul", {}, h("li", {}, link)));
}

function backLink(words, actions) {
  return words.own("button", "back", {}, { type: "button", class: "link back", onclick: actions.back });
}

function prevented(action) {
  return (event) => { event.preventDefault(); action(); };
}

function find(survey, name) {
  return survey.questions.find((q) => q.name === name);
}

export function isPublic(design, name) {
  return design.attributes.find((a) => a.name === name).public === true;
}
