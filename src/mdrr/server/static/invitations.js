// Invitations: made by the server, shown this once, handed out as links whose fragment no server sees.

import { complain, h } from "./elements.js";
import { Refused, id, keep, post } from "./owner.js";

const MOST = 100_000; // at once
const whole = (value) => new Intl.NumberFormat("en").format(value);

// A whole number as people write it, or NaN.
export function count(text) {
  const digits = text.replace(/[\s,’']/g, "");
  return /^\d{1,9}$/.test(digits) ? Number(digits) : NaN;
}

// The section of a page. `status()` says how the survey stands, `stop(error)` takes a token that is refused.
export function invitations(place, status, stop) {
  const number = h("input", { type: "text", id: "number", inputmode: "numeric", autocomplete: "off", class: "short" });
  const more = h("form", { id: "more", novalidate: true }, h("p", { class: "fields" },
    h("label", { for: "number" }, "How many people"), number, h("button", { class: "main", type: "submit" }, "Make invitations")));
  const old = h("textarea", { id: "old", rows: "4", spellcheck: "false", autocomplete: "off", dir: "ltr" });
  const change = h("form", { id: "change", novalidate: true },
    h("p", {}, "Links to the pilot no longer work, but their invitations do, once each. Paste the links that you sent. Nothing is sent anywhere: this page changes them."),
    h("p", {}, h("label", { for: "old" }, "Links to the pilot, one a line"), old),
    h("p", { class: "buttons" }, h("button", { class: "quiet", type: "submit" }, "Change them into links to the main survey")));
  const changing = h("details", { id: "changing", hidden: true }, h("summary", {}, "People who were invited and did not answer the pilot"), change);
  const made = h("div", { id: "made" });
  place.replaceChildren(more, changing, made);

  function show(title, links) {
    const text = h("textarea", { id: "links", rows: String(Math.min(8, links.length + 1)), readonly: true, spellcheck: "false", dir: "ltr", wrap: "off" });
    text.value = links.join("\n");
    const said = h("span", { role: "status" });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(text.value);
        said.textContent = "Copied.";
      } catch {
        text.select();
        said.textContent = "The links are selected: copy them with the keyboard.";
      }
    };
    const head = h("h3", { tabindex: "-1" }, title);
    made.replaceChildren(head,
      h("p", {}, "Each is good for one answer. They are shown this once, and the server keeps no copy: download or copy them now. "
        + "Send each person the whole link, and delete the list afterwards."),
      h("p", {}, h("label", { for: "links" }, "Links"), text),
      h("p", { class: "buttons" },
        h("button", { type: "button", class: "main", onclick: () => keep(new Blob([`${text.value}\n`], { type: "text/plain" }), "invitations.txt") }, "Download the links"),
        h("button", { type: "button", class: "quiet", onclick: copy }, "Copy the links"), said));
    head.focus();
  }

  more.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = count(number.value);
    if (!(wanted >= 1 && wanted <= MOST)) {
      complain(more, [[number, `Write how many invitations to make, from 1 to ${whole(MOST)}.`]]);
      return;
    }
    complain(more, []);
    try {
      const { links } = await post("invitations", { count: wanted });
      show(`${whole(wanted)} new invitation${wanted === 1 ? "" : "s"}`, links.map((link) => new URL(`../${link}`, location.href).href));
      number.value = "";
    } catch (error) {
      if (!(error instanceof Refused) || error.status === 401) stop(error);
      else complain(more, [[null, error.message]]);
    }
  });

  change.addEventListener("submit", (event) => {
    event.preventDefault();
    const lines = old.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const wrong = lines.findIndex((line) => !invited(line));
    if (lines.length === 0 || wrong >= 0) {
      const where = lines.length === 0 ? "Paste the links to the pilot, one a line." : `Line ${wrong + 1} is no link with an invitation to this survey.`;
      complain(change, [[old, where]]);
      return;
    }
    complain(change, []);
    const promised = status().link.split("#")[1];
    show("Links to the main survey", lines.map((line) => `${line.split("#")[0]}#${promised}&invitation=${invited(line)}`));
    old.value = "";
  });

  return function follow({ state, phase, invitations: { kind } }) {
    place.closest("section").hidden = kind === "none" || !["draft", "open"].includes(state);
    changing.hidden = phase < 2;
  };
}

// The invitation that a link holds; none if it is no link to this survey.
function invited(line) {
  let address;
  try {
    address = new URL(line);
  } catch {
    return null;
  }
  const { pathname, hash } = address;
  const given = new URLSearchParams(hash.slice(1)).get("invitation");
  const here = pathname.endsWith(`/s/${id}`) || pathname.endsWith("/") || pathname.endsWith("/index.html");
  return here && /^[A-Za-z0-9_-]+$/.test(given ?? "") ? given : null;
}
