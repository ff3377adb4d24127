// Talking to the collector as the survey's owner.
//
// The token comes in the link's fragment, which no server sees. It is kept for this tab and sent in a
// header alone.

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export const id = location.pathname.split("/").filter(Boolean).pop();
const base = `../api/surveys/${encodeURIComponent(id)}/owner/`;
const token = takeToken();

function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  const name = `mdrr-owner-${id}`;
  try {
    if (given) sessionStorage.setItem(name, given);
  } catch { /* storage is off: the token lives as long as the page */ }
  if (given) history.replaceState(null, "", location.pathname);
  try {
    return given ?? sessionStorage.getItem(name) ?? "";
  } catch {
    return given ?? "";
  }
}

// A response of the server; what it refuses is an error with its sentence.
export async function ask(path, values = {}, options = {}) {
  const kept = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = kept.length ? `?${new URLSearchParams(kept)}` : "";
  let response;
  try {
    const headers = { authorization: `Bearer ${token.replace(/[^\x21-\x7e]/g, "")}`, ...options.headers };
    response = await fetch(base + path + query, { cache: "no-store", ...options, headers });
  } catch {
    throw new Refused(0, "The server cannot be reached. Check the connection.");
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  const sentence = said.error ?? "The server failed. Try again in a minute.";
  throw new Refused(response.status, sentence[0].toUpperCase() + sentence.slice(1));
}

export const json = async (path, values) => (await ask(path, values)).json();

export async function post(path, body) {
  const options = { method: "POST" };
  if (body) Object.assign(options, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  return (await ask(path, {}, options)).json();
}

// Save what an address gives as a file.
export async function save(path, values, name) {
  keep(await (await ask(path, values)).blob(), name);
}

// Save what the page holds itself.
export function keep(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: `${id}-${name}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const POLL = 5000;
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Tell `heard` of every status: by server-sent events, and every 5 seconds where these fail.
export async function watch(heard, link) {
  for (;;) {
    try {
      const response = await ask("events");
      link(true);
      await read(response.body, heard);
    } catch (error) {
      if (error.status === 401 || error.status === 404) throw error;
    }
    try {
      heard(await json("status"));
      link(true);
    } catch (error) {
      if (error.status === 401 || error.status === 404) throw error;
      link(false);
    }
    await wait(POLL);
  }
}

async function read(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (data.length) heard(JSON.parse(data.join("\n")));
    }
  }
}
