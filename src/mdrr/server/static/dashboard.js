// The owner's dashboard: it follows the survey by itself, and draws nothing; charts are the server's.

import { Words, h } from "./elements.js";
import { builder } from "./counting.js";
import { Refused, chart, id, json, parts, post, save, watch } from "./owner.js";
import { direction } from "./texts.js";

const at = (name) => document.getElementById(name);
const number = (value, digits = 0) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }).format(value);
const budget = (value) => (value === null ? "∞" : value.toFixed(2));
const STATES = {
  draft: "not open yet", open: "open: takes answers", closed: "closed: takes no answers", published: "published",
};
const FILES = [
  ["reports.parquet", "Randomized reports", "What people's devices sent, in random order (Parquet)."],
  ["estimate.npz", "Estimate", "Read by mdrr.Estimate.load and by the commands of mdrr."],
  ["synthetic.csv", "Synthetic records", "Drawn from the estimate, as many as there are answers. No person is in them."],
  ["report.html", "Report", "Everything on one page, to print or to send."],
];
const PAUSE = 1500; // between two rounds of estimates
const state = { status: null, about: null, query: null, shown: null, words: null };

// ---- Once

async function start() {
  try {
    state.about = await json("survey");
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
  for (const name of ["method", "phase"]) at(name).addEventListener("change", () => refresh(true));
  builder(at("query"), asked(), marks, count);
  at("compared").addEventListener("toggle", () => compare().catch(stop));
  at("files").replaceChildren(...FILES.map(([file, title, text]) => h("li", {},
    h("button", { type: "button", class: "quiet", onclick: (event) => download(event.target, file) }, title), h("span", { class: "small" }, text))));
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
  const { invitations, answers } = status;
  const facts = [
    ["answers", number(answers)],
    ["ε, most one person spends", budget(status.epsilon)],
    ...(invitations.kind === "none" ? [] : [["invitations used", `${number(invitations.used)} of ${number(invitations.made)}`]]),
    ["design", status.fingerprint.slice(0, 12)],
  ];
  at("facts").replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  const link = new URL(`../${status.link}`, location.href).href;
  at("link").replaceChildren("People answer at ", h("a", { href: link }, `${id}, the survey's page`), invitations.kind === "none"
    ? ". Give them the whole link." : ". Give each the whole link, with &invitation= and an invitation at its end.");
  at("link").hidden = status.state !== "open";
  if (before?.state !== status.state) steps(status.state);
  if (before?.phases.length !== status.phases.length || before?.phase !== status.phase) phases(status);
  refresh();
}

function phases(status) {
  at("phases").hidden = status.phases.length < 2;
  const names = ["pilot", "main survey"];
  at("phase").replaceChildren(...status.phases.map((each, i) => h("option", { value: each.number }, names[i])));
  at("phase").value = String(status.phase);
}

const STEPS = {
  open: ["open", "Open the survey", "People can answer from now on.", ["draft", "closed"]],
  close: ["close", "Close the survey", "Nobody can answer any more until you open it again. The order of arrival is wiped.", ["open"]],
  blind: ["close", "Close the survey for good", "This is final: the key of the blind invitations is destroyed, and nobody can ever answer this survey again. The order of arrival is wiped.", ["open"]],
  publish: ["publish", "Publish the estimate", "Everybody can then read the estimate. This is final.", ["closed"]],
};

function steps(current) {
  const held = document.activeElement?.parentElement === at("steps");
  const blind = state.status.invitations.kind === "blind";  // such a survey closes once
  const left = Object.entries(STEPS).filter(([name]) => name !== (blind ? "close" : "blind") && !(blind && name === "open" && current === "closed"));
  at("steps").replaceChildren(...left.map(([, step]) => step).filter(([, , , from]) => from.includes(current)).map(
    ([path, title, text]) => h("button", { type: "button", class: "quiet", onclick: () => confirm(path, title, text) }, title)));
  if (held) at("steps").querySelector("button")?.focus();
}

function confirm(path, title, text) {
  const dialog = at("sure");
  const data = h("input", { type: "checkbox" });
  const also = path === "publish" ? h("p", {}, h("label", {}, data, " Publish the randomized reports too, as open data")) : null;
  dialog.firstElementChild.replaceChildren(...[
    h("h2", { id: "sure-title" }, `${title}?`), h("p", {}, text), also,
    h("p", { class: "buttons" }, h("button", { class: "main", value: "yes" }, title), h("button", { class: "quiet", value: "no", autofocus: true }, "Cancel")),
  ].filter(Boolean));
  dialog.returnValue = "";
  dialog.onclose = async () => {
    if (dialog.returnValue !== "yes") return;
    try {
      at("step-error").textContent = "";
      tell(await post(path, path === "publish" ? { method: at("method").value, open_data: data.checked } : null));
    } catch (error) {
      if (error.status === 401) stop(error);
      else at("step-error").textContent = error.message;
    }
  };
  dialog.showModal();
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
const wide = (place) => Math.max(160, Math.min(640, Math.floor((place.clientWidth - 60) / 20) * 20));

async function estimates() {
  const { phase, method } = chosen();
  const none = !state.status.phases.find((each) => String(each.number) === phase)?.answers;
  for (const each of document.querySelectorAll(".empty")) each.hidden = !none;
  if (none) {
    for (const name of ["margins", "arrivals", "heat", "strongest", "clusters"]) at(name).replaceChildren();
    return;
  }
  const [margins, found, came] = await Promise.all([
    parts("shares", { phase, method }), json("estimate", { phase, method }),
    chart("arrivals", { phase, width: wide(at("arrivals")) }),
  ]);
  at("margins").replaceChildren(...margins);
  draw("arrivals", came);
  const doubts = found.notes.warnings ?? [];
  at("doubts").hidden = doubts.length === 0;
  at("doubts").replaceChildren(at("doubts").firstElementChild, ...doubts.map((text) => h("p", {}, text)));
  at("clusters").replaceChildren(...(found.clusters ?? []).map((names) => h("li", {}, ...names.map((name) => h("span", {}, name)))));
  if (found.dependences && found.dependences.names.length > 1) {
    draw("heat", await chart("dependences", { phase }));
    at("strongest").textContent = at("heat").querySelector("title").textContent.replace(/^[^.]*\. /, "");
  } else {
    at("heat").replaceChildren();
    at("strongest").textContent = "Some pair of questions was answered by nobody together, so nothing can be said.";
  }
  at("counted").setAttribute("aria-live", "off"); // only what was asked for is read out
  if (state.query) await counted();
  await compare();
}

function draw(name, svg) {
  at(name).replaceChildren(svg);
  scrolling(at(name));
}

// A chart wider than the screen can be scrolled, with the keyboard too.
function scrolling(place) {
  const scrolls = place.scrollWidth > place.clientWidth + 1;
  const caption = place.closest("figure")?.querySelector("figcaption")?.textContent ?? place.id;
  const label = `Chart, can be scrolled: ${caption}`;
  for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", label]]) {
    if (scrolls) place.setAttribute(key, value);
    else place.removeAttribute(key);
  }
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
    draw("compared-chart", svg);
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
  const { epsilon, told } = state.about;
  const each = asked();
  const open = each.filter((one) => one.public);
  at("spent").textContent = `Each person answers once and spends at most ε = ${budget(epsilon)}. `
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
    draw("sent", await chart("privacy", { width: wide(at("sent")) }));
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    at("sent").replaceChildren(h("p", { class: "small" }, error.message));
  }
}

async function download(button, file) {
  button.disabled = true;
  at("file-error").textContent = "";
  try {
    const values = file === "reports.parquet" ? { phase: chosen().phase } : chosen();
    await save(file, values, file);
  } catch (error) {
    if (error.status === 401) stop(error);
    else at("file-error").textContent = error.message;
  }
  button.disabled = false;
}

start();
