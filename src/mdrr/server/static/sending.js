// What is kept on the device, and what is sent.
//
// Kept: which questionnaire chance picked, then the drawn report and the exact text to send. Both
// are what the collector sees anyway. True answers and the random bytes are never kept. The text is
// kept before it is first sent and sent again as it is, so that no retry draws a second time.

import { hex, randomBytes } from "./randomize.js";

const NAME = "mdrr";

// The store of one invitation to a survey on this device, named by the invitation's hash; of a
// survey without invitations there is one. What is kept for one invitation goes with no other.
export function keeper(id, whose, what = "answer") {
  const all = `${NAME}.${what}.${id}`;
  const key = whose ? `${all}.${whose}` : all;
  return {
    read() {
      const text = localStorage.getItem(key);
      return text === null ? null : JSON.parse(text);
    },
    // Whether a report was drawn here for another invitation to this survey.
    others: () => Object.keys(localStorage).some(
      (each) => each !== key && (each === all || each.startsWith(`${all}.`)) && holdsReport(each)),
    write: (kept) => localStorage.setItem(key, JSON.stringify(kept)),
    remove: () => localStorage.removeItem(key),
  };
}

// Whether chance was asked for what is kept; then it is not asked again.
export function isDrawn(kept) {
  return Boolean(kept?.report || kept?.received);
}

function holdsReport(key) {
  try {
    return isDrawn(JSON.parse(localStorage.getItem(key)));
  } catch {
    return true;
  }
}

export function storageWorks() {
  try {
    localStorage.setItem(`${NAME}.try`, "1");
    localStorage.removeItem(`${NAME}.try`);
    return true;
  } catch {
    return false;
  }
}

// The person's own limit on ε, as she typed it; it holds for every survey on this site.
export const limit = {
  read: () => localStorage.getItem(`${NAME}.limit`) ?? "",
  write: (text) => localStorage.setItem(`${NAME}.limit`, text),
};

// 128 random bits that name the answer, so that sending twice counts once.
export function newId() {
  return hex(randomBytes(16));
}

// The text of an answer, padded with blanks to the length that all answers of the survey have.
export function body(report, invitation, length) {
  const text = JSON.stringify({ report, invitation });
  const used = new TextEncoder().encode(text).length;
  if (used > length) throw new RangeError(`an answer has ${used} bytes, the survey takes ${length}`);
  return text + " ".repeat(length - used);
}

// Where the survey is: the page's own server, or the collector that the page names.
export function surveyUrl(document, location) {
  const named = (name) => document.querySelector(`meta[name="mdrr-${name}"]`)?.content ?? "";
  const id = named("survey") || location.pathname.split("/").filter(Boolean).at(-1) || "";
  const base = named("collector") || new URL("..", location.href).href;
  return { id, url: new URL(`api/surveys/${encodeURIComponent(id)}`, base.replace(/\/*$/, "/")).href };
}

// What the link says after #. Mail programs put a full stop or a bracket behind links.
export function readLink(hash) {
  const said = new URLSearchParams(hash.slice(1));
  const value = (name) => (said.get(name) ?? "").replace(/[^A-Za-z0-9_-]+$/, "");
  return { design: value("design"), words: value("words"), key: value("key"), invitation: value("invitation") };
}

// An invitation is 256 bits in base64url.
export function isInvitation(text) {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

const SECONDS = 30;

// No cookies, no referrer, no copies; whoever does not answer in time counts as not reached.
function options() {
  return { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error",
    signal: AbortSignal.timeout(SECONDS * 1000) };
}

export async function load(url) {
  const response = await fetch(url, options());
  if (!response.ok) throw Object.assign(new Error("not loaded"), { status: response.status });
  return response.json();
}

const FINAL = { 403: "invitationRefused", 409: "conflict", 410: "closedMeanwhile", 413: "notAccepted", 422: "notAccepted" };

// Sends the text as it is. The outcome is "received", "waitingText", "busyText" (try again) or the
// name of the text that says why it will never be received.
export async function send(url, text) {
  const status = await post(`${url}/answers`, text);
  if (status === null) return "waitingText";
  return status === 201 ? "received" : FINAL[status] ?? "busyText";
}

// The status of the reply; null if there was none.
async function post(url, body) {
  const headers = { "Content-Type": "application/json" };
  try {
    return (await fetch(url, { ...options(), method: "POST", headers, body })).status;
  } catch {
    return null;
  }
}

// Seconds until an answer that did not arrive is sent again: 2, 4, 8, … up to five minutes, each
// longer by chance, so that not all come back at once. After `TRIES`, about a day, no more.
const TRIES = 300;
export function pause(tries) {
  if (tries > TRIES) return null;
  return Math.min(2 ** tries, 240) * (1 + randomBytes(1)[0] / 1024);
}

// What the answer carries as its invitation. Whether it is good is asked before any question: an
// error with the collector's `status` if it is not. Blind invitations are exchanged for a signed
// token that the collector cannot link to the invitation.
export async function ticket(info, invitation, url, keep) {
  if (info.invitations === "none") return null;
  if (info.invitations === "required") {
    const status = await post(`${url}/invitation`, JSON.stringify({ invitation }));
    if (status === 403 || status === 410) throw Object.assign(new Error("not invited"), { status });
    return invitation;
  }
  const { redeem } = await import("./blind.js");
  return redeem({ invitation, key: info.blind_key, keep, url: `${url}/sign`, options: options() });
}
