// The owner's dashboard: it follows the survey by itself, and draws nothing; charts are the server's.

import { chart, draw, parts, scrolling, wide } from "./charts.js";
import { builder } from "./counting.js";
import { Words, h } from "./elements.js";
import { Refused, id, json, save, watch } from "./owner.js";
import { clusterList, invitations, mainSurvey, steps } from "./steps.js";
import { direction } from "./texts.js";

const at = (name) => document.getElementById(name);
const number = (value, digits = 0) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }).format(value);
const budget = (value) => (value === null ? "∞" : value.toFixed(2));
const STATES = {
  draft: "not open yet", open: "open: takes answers", closed: "closed: takes no answers", published: "published",
};
const PHASES = ["pilot", "main survey"];
const REPORTS = "What people's devices sent, in random order (Parquet).";
const FILES = [
  ["estimate.npz", "Estimate", "Read by mdrr.Estimate.load and by the commands of mdrr."],
  ["synthetic.csv", "Synthetic records", "Drawn from the estimate, as many as there are answers. No person is in them."],
  ["report.html", "Report", "Everything on one page, to print or to send."],
  ["survey.json", "Frozen survey", "Its texts and designs, which never change."],
];
const PAUSE = 1500; // between two rounds of estimates
const state = { status: null, about: null, query: null, shown: null, words: null, follow: [] };

// ---- Once

async function start() {
  try {
    state.about = await json("survey");
    state.follow = [invitations(at("invite"), () => state.status, stop), mainSurvey(at("main-survey"), () => state.status, tell, stop)];
    tell(await json("status"));
  } catch (error) {
    stop(error);
    return;
  }
  const { survey, methods } = state.about;
  const language = survey.languages[0];
  const words = state.words = new Words(language, survey.languages);
  const marks = { lang: language, dir: direction(language) };
  at("title").replaceWith(h("h1", { id: "title", ...marks }, words.text(survey.title) || "Your survey"));
  document.title = `${words.text(survey.title) || id} – dashboard`;
  at("method").replaceChildren(...methods.map((name) => h("option", { value: name }, name)));
  at("method").addEventListener("change", () => refresh(true));
  at("phase").addEventListener("change", () => {
    shown();
    refresh(true);
    spent().catch(stop);
  });
  builder(at("query"), asked(), marks, count);
  at("compared").addEventListener("toggle", () => compare().catch(stop));
  at("message").remove();
  at("shown").hidden = false;
  spent().catch(stop);
  refresh(true);
  watch(tell, linked).catch(stop);
}

// The attributes with the survey's words for them.
function asked() {
  const { survey, attributes } = state.about;
  const words = state.words;
  return attributes.map((each, i) => ({
    ...each,
    question: words.text(survey.questions[i].text),
    labels: survey.questions[i].labels.map((label) => words.text(label)),
  }));
}

function stop(error) {
  const sentences = {
    401: "This link does not open the dashboard: use the whole link that you got when the survey was opened. If it is lost, 'mdrr survey owner' makes a new one where the database is.",
    404: "There is no such survey. Check the link.",
  };
  if (!(error instanceof Refused)) throw error;
  at("shown").hidden = true;
  const message = at("message") ?? h("p", { id: "message", role: "status" });
  message.textContent = sentences[error.status] ?? error.message;
  at("main").prepend(message);
}

// ---- How it stands

function linked(on) {
  at("live").textContent = on ? "Live: this page follows by itself." : "The server does not answer. Trying again …";
  at("live").classList.toggle("off", !on);
}

function tell(status) {
  const before = state.status;
  state.status = status;
  at("state").textContent = STATES[status.state];
  const { answers, invitations: { kind, made, used } } = status;
  const begun = status.phases.slice(0, status.phase);
  const epsilon = begun.some((each) => each.epsilon === null) ? null : Math.max(...begun.map((each) => each.epsilon));
  const facts = [
    ["answers", number(answers)],
    ...(begun.length > 1 ? begun.map((each, i) => [`of the ${PHASES[i]}`, number(each.answers)]) : []),
    ["privacy: ε, the most one person spends", budget(epsilon)],
    ...(kind === "none" ? [] : [["invitations used", `${number(used)} of ${number(made)}`]]),
    ["design", h("code", {}, status.fingerprint.slice(0, 12))],
  ];
  at("facts").replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  const link = new URL(`../${status.link}`, location.href).href;
  at("link").replaceChildren("People answer at ", h("a", { href: link }, `${id}, the survey's page`), ...(kind === "none"
    ? [". Give them the whole link."] : [". Each person needs a link of her own, with an invitation: ", h("a", { href: "#invitations" }, "make invitations"), "."]));
  at("link").hidden = status.state !== "open";
  if (before?.state !== status.state || before?.phase !== status.phase) steps(status, () => at("method").value, tell, stop);
  for (const follow of state.follow) follow(status);
  for (const each of document.querySelectorAll("nav a")) each.hidden = document.querySelector(each.hash).closest("section").hidden;
  if (before?.phase !== status.phase) phases(status);
  shown();
  refresh();
}

function phases({ phase }) {
  at("phases").hidden = phase < 2;
  at("phase").value = "";
  const reports = PHASES.slice(0, phase).map((name, i) => ["reports.parquet", phase > 1 ? `Reports of the ${name}` : "Randomized reports", REPORTS, { phase: i + 1 }]);
  at("files").replaceChildren(...[...reports, ...FILES].map(([file, title, text, values]) => h("li", {},
    h("button", { type: "button", class: "quiet", onclick: (event) => download(event.target, file, values) }, title), h("span", { class: "small" }, text))));
  if (state.words) spent().catch(stop);
}

// The phases that are looked at, with their names.
function looked() {
  const { phase, phases: all } = state.status;
  const begun = all.slice(0, phase).map((each, i) => ({ ...each, name: PHASES[i] }));
  return begun.filter((each) => ["", String(each.number)].includes(at("phase").value));
}

// Say everywhere which phase is shown.
function shown() {
  const parts = looked().map(({ name, answers }) => `${number(answers)} of the ${name}`);
  const text = parts.length > 1 ? `Both phases together: ${parts.join(" and ")}.` : `Only answers of one phase: ${parts[0]}.`;
  for (const each of document.querySelectorAll(".which")) {
    each.hidden = state.status.phase < 2;
    if (each.textContent !== text) each.textContent = text;
  }
}

// ---- Estimates: one round at a time, and again if answers came meanwhile

let round = null;
let wanted = false;

function refresh(now = false) {
  if (!state.about || at("shown").hidden || document.hidden) return;
  const key = `${at("phase").value} ${at("method").value} ${JSON.stringify(state.status.phases)}`;
  if (!now && key === state.shown) return;
  wanted = true;
  round ??= rounds().catch(stop).finally(() => { round = null; });
}

document.addEventListener("visibilitychange", () => refresh());

async function rounds() {
  while (wanted) {
    wanted = false;
    state.shown = `${at("phase").value} ${at("method").value} ${JSON.stringify(state.status.phases)}`;
    try {
      await estimates();
      at("problem").textContent = "";
    } catch (error) {
      if (!(error instanceof Refused) || error.status === 401) throw error;
      at("problem").textContent = error.message;
      state.shown = null;
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
}

const chosen = () => ({ method: at("method").value, phase: at("phase").value });

async function estimates() {
  const { phase, method } = chosen();
  const none = looked().every((each) => !each.answers);
  for (const each of document.querySelectorAll(".empty")) each.hidden = !none;
  if (none) {
    for (const name of ["margins", "arrivals", "heat", "strongest", "clusters"]) at(name).replaceChildren();
    return;
  }
  draw(at("arrivals"), await chart("arrivals", { phase, width: wide(at("arrivals")) }));
  at("computing").hidden = false;
  const [margins, found] = await Promise.all([parts("shares", { phase, method }), json("estimate", { phase, method })])
    .finally(() => { at("computing").hidden = true; });
  at("margins").replaceChildren(...margins);
  at("shortfall").hidden = !found.shortfall;
  at("shortfall").textContent = found.shortfall;
  const doubts = found.notes.warnings ?? [];
  at("doubts").hidden = doubts.length === 0;
  at("doubts").replaceChildren(at("doubts").firstElementChild, ...doubts.map((text) => h("p", {}, text)));
  at("clusters").replaceChildren(clusterList(found.clusters ?? [], "Clusters"));
  if (found.dependences && found.dependences.names.length > 1) {
    draw(at("heat"), await chart("dependences", { phase }));
    at("strongest").textContent = at("heat").querySelector("title").textContent.replace(/^[^.]*\. /, "");
  } else {
    at("heat").replaceChildren();
    at("strongest").textContent = "Some pair of questions was answered by nobody together, so nothing can be said.";
  }
  at("counted").setAttribute("aria-live", "off"); // only what was asked for is read out
  if (state.query) await counted();
  await compare();
}

let resized = 0;
let width = innerWidth;
window.addEventListener("resize", () => {
  if (innerWidth === width || !state.words) return; // a phone's bars come and go
  width = innerWidth;
  document.querySelectorAll(".chart").forEach(scrolling);
  clearTimeout(resized);
  resized = setTimeout(() => {
    refresh(true);
    sent().catch(stop);
  }, 300);
});

async function count(where, of) {
  if (!where) {
    at("counted").replaceChildren(h("p", { class: "error" }, "Choose at least one answer, or write a condition."));
    return;
  }
  state.query = { where, of };
  at("counted").setAttribute("aria-live", "polite");
  await counted().catch(stop);
  await compare().catch(stop);
}

async function counted() {
  const { where, of } = state.query;
  try {
    const found = await json("count", { where, of, ...chosen() });
    const percent = number((100 * found.value) / found.n, 1);
    at("counted").replaceChildren(
      h("p", { class: "result" }, h("strong", {}, number(found.value)), ` of ${number(found.n)} people (${percent} %)`),
      h("p", {}, `With ${number(100 * found.level)} % confidence between ${number(Math.max(0, found.low))} and ${number(found.high)}.`),
      h("p", { class: "small" }, "Asked: ", h("code", {}, where)));
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    state.query = null;
    at("counted").replaceChildren(h("p", { class: "error" }, error.message));
  }
}

async function compare() {
  if (!at("compared").open) return;
  const { phase } = chosen();
  const where = state.query?.where;
  try {
    const [svg, found] = [await chart("compared", { phase, where, width: wide(at("compared-chart")) }), await json("compared", { phase, where })];
    const methods = Object.keys(found.answers[0].counts);
    draw(at("compared-chart"), svg);
    at("methods").replaceChildren(...methods.map((name, i) => h("span", {}, h("span", { class: `key method${i + 1}` }), ` ${name}`)));
    const cells = (name, { value, low, high }) => h("td", { class: "n", "data-label": name }, number(value), h("span", { class: "small" }, ` ${number(Math.max(0, low))}–${number(high)}`));
    at("compared-table").replaceChildren(h("table", { class: "stack" },
      h("caption", { class: "hidden" }, "People, by each estimator, with 95 % intervals"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "people who say"), ...methods.map((name) => h("th", { scope: "col", class: "n" }, name)))),
      h("tbody", {}, ...found.answers.map(({ label, counts }) => h("tr", {}, h("th", { scope: "row" }, label), ...methods.map((name) => cells(name, counts[name])))))),
      ...Object.entries(found.refused).map(([name, text]) => h("p", { class: "small" }, `${name}: ${text}`)));
    at("compared-table").setAttribute("tabindex", "0");
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    at("compared-table").replaceChildren(h("p", {}, error.message));
  }
}

// ---- Privacy and files

async function spent() {
  const { phase, phases: all, invitations: { kind } } = state.status;
  state.about = await json("survey", { phase: chosen().phase });
  const { epsilon, told } = state.about;
  const each = asked();
  const open = each.filter((one) => one.public);
  const [first, second] = all.map((one) => budget(one.epsilon));
  at("spent").textContent = (phase < 2 ? `Each person answers once and spends at most ε = ${budget(epsilon)}. `
    : `Each person of the pilot spends at most ε = ${first}, each of the main survey at most ε = ${second}. `
      + (kind === "none" ? "Whoever answers both spends both. " : "An invitation is good for one answer, so nobody spends both. ")
      + `Below is what ${chosen().phase === "1" ? "people of the pilot" : "people of the main survey"} are asked. `)
    + "Looking at estimates, counting and downloading spend nothing more. "
    + (open.length ? `Public, reported as they are and outside ε: ${open.map((one) => one.name).join(", ")}. Whoever sees a report can join them with what is known.`
      : "No answer is public.");
  at("budgets").replaceChildren(h("table", {}, h("caption", { class: "hidden" }, "Privacy by question"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "question"), h("th", { scope: "col", class: "n" }, "ε at most"))),
    h("tbody", {}, ...each.map((one) => h("tr", {}, h("th", { scope: "row" }, one.question),
      h("td", { class: "n" }, one.public ? "public" : budget(one.epsilon)))))));
  at("told").replaceChildren(...told.map((sentence) => h("li", {}, sentence)));
  await sent();
}

async function sent() {
  try {
    draw(at("sent"), await chart("privacy", { phase: chosen().phase, width: wide(at("sent")) }));
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    at("sent").replaceChildren(h("p", { class: "small" }, error.message));
  }
}

async function download(button, file, values = chosen()) {
  button.disabled = true;
  at("file-error").textContent = "";
  try {
    await save(file, values, values.phase ? `${PHASES[values.phase - 1].replace(" ", "-")}-${file}` : file);
  } catch (error) {
    if (error.status === 401) stop(error);
    else at("file-error").textContent = error.message;
  }
  button.disabled = false;
}

start();
