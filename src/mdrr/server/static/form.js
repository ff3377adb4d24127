// The respondent's page: from the link to the acknowledgement.
//
// The link's fragment carries the fingerprints of the design and of the survey's words, and the
// invitation, so no server sees them in an address. True answers live in `state.answers` until the
// page is closed, and nowhere else.

import { check, choiceBytes, choose, codes, fingerprint, fits, randomBytes, recordBytes, sha256 } from "./randomize.js";
import { epsilonOf, epsilonOfDesign } from "./risk.js";
import * as device from "./sending.js";
import { Words } from "./elements.js";
import * as pages from "./pages.js";
import { TEXTS, direction, firstLanguage } from "./texts.js";

const link = device.readLink(location.hash);
const { id, url } = device.surveyUrl(document, location);
const state = { answers: new Map(), asked: [], chosen: null, ticket: null, report: null, outcome: null, tries: 0 };
let keep, keepTicket; // what this device holds for this link's invitation
let words = new Words(firstLanguage(Object.keys(TEXTS), navigator.languages), []);
let current = { view: "start" };

class Stop extends Error {
  constructor(head, key) {
    super(key);
    Object.assign(this, { head, key });
  }
}

// ---- Showing

function show(view, options = {}, focus = "h1") {
  current = { view, options };
  const nodes = render(view, options);
  document.documentElement.lang = words.language;
  document.documentElement.dir = direction(words.language);
  const main = document.getElementById("main");
  main.replaceChildren(...nodes);
  const heading = main.querySelector("h1");
  heading.setAttribute("tabindex", "-1");
  const title = state.survey ? words.text(state.survey.title) : "";
  const name = options.problem ? `${words.say("problem")}: ${heading.textContent}` : heading.textContent;
  document.title = view === "start" || !title ? name : `${name} – ${title}`;
  document.getElementById("header").replaceChildren(
    ...(view === "start" || !title ? [] : [words.theirs("p", state.survey.title)]));
  document.getElementById("footer").replaceChildren(
    ...(state.mark ? [words.own("p", "design", { mark: `\u2066${state.mark.slice(0, 12)}\u2069` })] : []));
  window.scrollTo(0, 0);
  const target = main.querySelector(options.problem ? ".problem" : focus);
  if (target) target.focus({ preventScroll: !options.problem });
}

function render(view, options) {
  if (view === "start") {
    return pages.start(state, words, { limit: device.limit.read(), ...options }, { begin, speak });
  }
  if (view === "question") {
    const chosen = state.answers.get(state.asked[options.at].name);
    return pages.question(state, words, { chosen, ...options }, { answer, back });
  }
  if (view === "check") {
    return pages.check(state, words, { back, change: (at) => go("question", { at, change: true }), next: () => go("risk") });
  }
  if (view === "risk") return pages.risk(state, words, options, { back, send });
  if (view === "sent") return pages.sent(state, words, { outcome: state.outcome }, { again: deliver });
  if (view === "other") return pages.other(words, { next: () => go("start") });
  return pages.message(words, options.head, options.key);
}

// A page of its own in the browser's history; the address stays the same and says nothing.
function go(view, options = {}) {
  history.pushState({ view, options: { ...options, problem: undefined } }, "");
  show(view, options);
}

function back() {
  history.back();
}

window.addEventListener("popstate", (event) => {
  const { view, options } = event.state ?? {};
  if (state.report) show("sent");
  else if (current.view === "message") show("message", current.options);
  else if (!view || view === "start" || state.asked.length === 0) show("start");
  else if (view === "question" || missing() < 0) show(view, options);
  else show("question", { at: missing() });
});

function speak(language) {
  words = new Words(language, state.survey.languages);
  show(current.view, { ...current.options, problem: undefined }, ".languages [aria-current]");
}

// ---- Answering

// Why a limit on ε forbids taking part, or null.
function forbidden(text, epsilon) {
  const limit = text.trim() === "" ? Infinity : Number(text.trim().replace(",", "."));
  if (Number.isNaN(limit) || limit < 0) return words.say("limitBad");
  if (epsilon <= limit) return null;
  return words.say("limitOver", { epsilon: words.number(pages.upwards(epsilon)), limit: words.number(limit) });
}

async function begin(text) {
  const problem = forbidden(text, state.epsilon);
  device.limit.write(text.trim());
  if (problem) return show("start", { problem });
  const { design, mark } = state;
  try {
    let kept = keep.read();
    if (device.isDrawn(kept)) return resume(kept);
    state.ticket = await device.ticket(state.info, link.invitation, url, keepTicket);
    if (kept?.design !== mark) {
      const bytes = randomBytes(choiceBytes(design));
      kept = { design: mark, questionnaire: choose(design, bytes).chosen };
      keep.write(kept);
    }
    state.chosen = kept.questionnaire;
  } catch (error) {
    return stop(error);
  }
  const asked = new Set(design.questionnaires[state.chosen].clusters.flatMap((c) => c.attributes));
  state.asked = state.survey.questions.filter((q) => asked.has(q.name));
  return go("question", { at: 0 });
}

function answer(at, chosen) {
  if (chosen < 0) return show("question", { ...current.options, at, problem: words.say("choose") });
  state.answers.set(state.asked[at].name, chosen);
  if (current.options.change || missing() < 0) return go("check");
  return go("question", { at: at + 1 < state.asked.length ? at + 1 : missing() });
}

function missing() {
  return state.asked.findIndex((q) => !state.answers.has(q.name));
}

async function send(agreed) {
  if (!agreed) return show("risk", { problem: words.say("agreeMissing") });
  const problem = forbidden(device.limit.read(), epsilonOf(state.design.questionnaires[state.chosen]));
  if (problem) return show("start", { problem });
  const now = await device.load(url).catch(() => state.info); // unreachable: it is sent later
  if (now.state !== "open") return stop(new Stop("sorry", "closedUnsent"));
  if (now.fingerprint !== state.mark) return stop(otherDesign(now));
  let kept;
  try {
    kept = drawOnce();
  } catch (error) {
    const tooLong = error instanceof RangeError;
    return stop(tooLong ? new Stop("sorry", "notAccepted") : new Stop("stopped", "noStorage"));
  }
  return resume(kept);
}

// The report and the text to send, kept before anything is sent. Nothing here waits, so that no
// other tab can draw between reading and writing.
function drawOnce() {
  const before = keep.read();
  if (device.isDrawn(before)) return before;
  const { design, mark, chosen, info, ticket } = state;
  const record = Object.fromEntries(state.asked.map(({ name }) => {
    const { categories } = design.attributes.find((a) => a.name === name);
    return [name, categories[state.answers.get(name)]];
  }));
  const bytes = randomBytes(recordBytes(design) - choiceBytes(design));
  const report = { design: mark, questionnaire: chosen, codes: codes(record, design, chosen, bytes), id: device.newId() };
  const text = device.body(report, ticket, info.answer_bytes);
  const kept = { design: mark, questionnaire: chosen, report, text };
  keep.write(kept);
  return kept;
}

// What was answered is in this page alone: leaving it before sending loses it.
window.addEventListener("beforeunload", (event) => {
  if (state.answers.size > 0 && !state.report && current.view !== "message") event.preventDefault();
});

// ---- Sending

// What was drawn is received, was refused, or is sent now: the same text, for the same invitation.
function resume(kept) {
  if (kept.received) return stop(new Stop("already", "alreadyText"));
  state.report = kept.report;
  state.chosen = kept.questionnaire;
  const reopened = kept.refused === "closedMeanwhile" && state.info.state === "open";
  if (!kept.refused || reopened) return deliver();
  state.outcome = kept.refused;
  return show("sent");
}

async function deliver({ quietly = false } = {}) {
  if (state.outcome === "sending") return;
  clearTimeout(state.timer);
  const before = state.outcome;
  state.outcome = "sending";
  if (!quietly) show("sent");
  const kept = keep.read();
  state.outcome = kept.received ? "received" : await device.send(url, kept.text);
  if (state.outcome === "received") {
    keepTicket.remove(); // nothing needs the invitation any more, nor what it became
    keep.write({ design: kept.design, received: true });
  } else if (isWaiting()) {
    const seconds = device.pause(++state.tries);
    if (seconds !== null) state.timer = setTimeout(deliver, seconds * 1000, { quietly: true });
  } else {
    keep.write({ ...kept, refused: state.outcome });
  }
  if (!quietly || state.outcome !== before) show("sent");
}

function isWaiting() {
  return state.outcome === "waitingText" || state.outcome === "busyText";
}

window.addEventListener("online", () => {
  if (isWaiting()) deliver({ quietly: true });
});

// ---- Loading

async function open() {
  show("message", { head: "loading" });
  if (!globalThis.crypto?.subtle) throw new Stop("stopped", "insecure");
  if (!device.storageWorks()) throw new Stop("stopped", "noStorage");
  if (![link.design, link.words || link.design].every((mark) => /^[0-9a-f]{64}$/.test(mark))) throw new Stop("stopped", "noDesign");
  const info = await device.load(url).catch((error) => {
    throw new Stop("sorry", error.status === 404 ? "unknown" : "unreachable");
  });
  const { survey, design } = info;
  words = new Words(firstLanguage(survey.languages, navigator.languages), survey.languages);
  const whose = info.invitations === "none" ? "" : (await sha256(link.invitation)).slice(0, 32);
  keep = device.keeper(id, whose);
  keepTicket = device.keeper(id, whose, "blind");
  const kept = read();
  if (kept?.received || (device.isDrawn(kept) && kept.design !== link.design)) throw new Stop("already", "alreadyText");
  const mark = await check(design).catch(() => {
    throw new Stop("stopped", "unfair");
  });
  if (mark !== link.design) throw otherDesign(info);
  if (!asksTheSame(survey, design)) throw new Stop("stopped", "mismatch");
  if (link.words && (await fingerprint(survey).catch(() => "")) !== link.words) throw new Stop("stopped", "mismatch");
  if (info.invitations === "blind") {
    // With a key of her own a person could be recognized: the link says which key all have.
    if (!link.key) throw new Stop("stopped", "noDesign");
    if ((await sha256(info.blind_key ?? "")) !== link.key) throw new Stop("stopped", "mismatch");
  }
  Object.assign(state, { info, survey: words.withBins(survey, design), design, mark, epsilon: epsilonOfDesign(design) });
  if (device.isDrawn(kept)) {
    if (!fits(kept.report, design, mark)) throw new Stop("stopped", "damaged");
    return resume(kept);
  }
  if (info.state !== "open") throw new Stop("sorry", "closed");
  if (info.invitations !== "none") {
    if (!link.invitation) throw new Stop("sorry", "noInvitation");
    if (!device.isInvitation(link.invitation)) throw new Stop("sorry", "linkCut");
  } else if (keep.others()) {
    throw new Stop("already", "alreadyText");
  }
  history.replaceState({ view: "start" }, "");
  return show(keep.others() ? "other" : "start");
}

// The design is not the one that the link promises. Nothing is asked, whatever the collector says
// of it; if it names the promised one among those of earlier phases, nobody need be alarmed.
function otherDesign({ earlier }) {
  const over = Array.isArray(earlier) && earlier.includes(link.design);
  return over ? new Stop("partOver", "partOverText") : new Stop("stopped", "mismatch");
}

function read() {
  try {
    return keep.read();
  } catch {
    throw new Stop("stopped", "damaged");
  }
}

// The survey's words are about the design's attributes, category by category.
function asksTheSame(survey, design) {
  return survey.questions.length === design.attributes.length && design.attributes.every(
    (a) => survey.questions.some((q) => q.name === a.name && q.labels.length === a.categories.length));
}

function stop(error) {
  if (error instanceof Stop) return show("message", { head: error.head, key: error.key });
  const reason = { 403: "invitationUsed", 410: "closed" }[error.status] ?? "unreachable";
  return show("message", { head: "sorry", key: reason });
}

open().catch(stop);
window.addEventListener("hashchange", () => location.reload());
