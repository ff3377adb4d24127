// What is kept on the device, and what is sent.
//
// Kept: which questionnaire chance picked, then the drawn report and the exact text to send. Both
// are what the collector sees anyway. True answers and the random bytes are never kept. The text is
// kept before it is first sent and sent again as it is, so that no retry draws a second time.

import { randomBytes } from "./randomize.js";

const NAME = "mdrr";

// The store of one survey on this device. It does not ask which invitation: a collector that
// refuses an answer and hands out a new invitation gets the same report again.
export function keeper(id, what = "answer") {
  const key = `${NAME}.${what}.${id}`;
  return {
    read() {
      const text = localStorage.getItem(key);
      return text === null ? null : JSON.parse(text);
    },
    write: (kept) => localStorage.setItem(key, JSON.stringify(kept)),
    remove: () => localStorage.removeItem(key),
  };
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

function hex(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// SHA-256 of a text, as hexadecimal digits.
export async function hash(text) {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

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

const FINAL = { 403: "invitationUsed", 409: "conflict", 410: "closedMeanwhile", 413: "notAccepted", 422: "notAccepted" };

// Sends the text as it is. The outcome is "received", "waitingText", "busyText" (try again) or the
// name of the text that says why it will never be received.
export async function send(url, text) {
  let response;
  try {
    response = await fetch(`${url}/answers`, {
      ...options(), method: "POST", headers: { "Content-Type": "application/json" }, body: text,
    });
  } catch {
    return "waitingText";
  }
  if (response.status === 201) return "received";
  return FINAL[response.status] ?? "busyText";
}

// What the answer carries as its invitation. Blind invitations are exchanged for a signed token
// that the collector cannot link to the invitation.
export async function ticket(info, invitation, url) {
  if (info.invitations !== "blind") return info.invitations === "none" ? null : invitation;
  const { redeem } = await import("./blind.js");
  const sign = { url: `${url}/sign`, options: options() };
  return redeem({ invitation, key: info.blind_key, keep: keeper(info.id, "blind"), ...sign });
}

// Once the answer is received nothing needs the invitation: forget it and what it became.
export function forgetTicket(id) {
  keeper(id, "blind").remove();
}
