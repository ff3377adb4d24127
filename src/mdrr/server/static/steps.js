// What an owner does: the steps of a survey's life, each asked for twice, and invitations.

import { complain, h } from "./elements.js";
import { Refused, id, json, keep, post } from "./owner.js";

// A step's path, its name, what follows from it, from which states, and whether with blind invitations alone or never.
const STEPS = [
  ["open", "Open the survey", "People can answer from now on.", ["draft"]],
  ["open", "Open the survey", "People can answer from now on.", ["closed"], false],
  ["close", "Close the survey", "Nobody can answer any more until you open it again. The order of arrival is wiped.", ["open"], false],
  ["close", "Close the survey for good", "This is final: the key of the blind invitations is destroyed, and nobody can ever answer this survey again. The order of arrival is wiped.", ["open"], true],
  ["publish", "Publish the estimate", "Everybody can then read the estimate. This is final.", ["closed"]],
];
const MOST = 100_000; // invitations at once
const at = (name) => document.getElementById(name);
const whole = (value) => new Intl.NumberFormat("en").format(value);

// A whole number as people write it, or NaN.
function count(text) {
  const digits = text.replace(/[\s,’']/g, "");
  return /^\d{1,9}$/.test(digits) ? Number(digits) : NaN;
}

// The buttons of the steps that a survey can take now. `method()` is the estimator that is shown; `tell` takes the new status.
export function steps(status, method, tell, stop) {
  const held = document.activeElement?.parentElement === at("steps");
  const blind = status.invitations.kind === "blind";
  const now = STEPS.filter(([, , , from, only]) => from.includes(status.state) && (only ?? blind) === blind);
  at("steps").replaceChildren(...now.map(([path, title, text]) => h("button", {
    type: "button", class: "quiet", onclick: () => {
      const data = h("input", { type: "checkbox" });
      const also = path === "publish" ? [h("p", {}, h("label", {}, data, " Publish the randomized reports too, as open data"))] : [];
      if (path === "publish" && status.phase > 1) also.unshift(h("p", {}, "Published are both phases together, and each."));
      sure(title, [h("p", {}, text), ...also], async () => {
        try {
          at("step-error").textContent = "";
          tell(await post(path, path === "publish" ? { method: method(), open_data: data.checked } : null));
        } catch (error) {
          if (!(error instanceof Refused) || error.status === 401) stop(error);
          else at("step-error").textContent = error.message;
        }
      });
    },
  }, title)));
  if (held) at("steps").querySelector("button")?.focus();
}

// Ask whether a step is meant.
function sure(title, parts, go) {
  const dialog = at("sure");
  dialog.firstElementChild.replaceChildren(h("h2", { id: "sure-title" }, `${title}?`), ...parts,
    h("p", { class: "buttons" }, h("button", { class: "main", value: "yes" }, title), h("button", { class: "quiet", value: "no", autofocus: true }, "Cancel")));
  dialog.returnValue = "";
  dialog.onclose = () => { if (dialog.returnValue === "yes") go(); };
  dialog.showModal();
}

export const clusterList = (clusters, label) => h("ul", { class: "clusters", "aria-label": label },
  ...clusters.map((names) => h("li", {}, ...names.map((name) => h("span", {}, name)))));

// The section that ends the pilot: what it suggests, and the start of the main survey.
export function mainSurvey(place, status, tell, stop) {
  const text = (name, mode) => h("input", { type: "text", id: name, inputmode: mode, autocomplete: "off", class: "short" });
  const [people, epsilon, cells] = [text("people", "numeric"), text("epsilon", "decimal"), text("cells", "numeric")];
  const field = (input, label, hint) => h("p", {}, h("label", { for: input.id }, label), h("span", { class: "small hint" }, hint), input);
  const form = h("form", { id: "suggest", novalidate: true },
    field(people, "How many people you will ask in the main survey", ""),
    field(epsilon, "ε of the main survey", "Leave it empty for the pilot's."),
    field(cells, "Ask clusters of at most so many combinations", "Leave it empty for the design with the least predicted error."),
    h("p", { class: "buttons" }, h("button", { class: "quiet", type: "submit" }, "See what the pilot suggests")));
  const found = h("div", { id: "suggested" });
  place.replaceChildren(form, found);

  function read() {
    const values = { people: count(people.value), epsilon: epsilon.value.trim().replace(",", "."), max_cells: cells.value.trim() };
    const problems = [];
    if (!(values.people >= 1)) problems.push([people, "Write how many people you will ask, as a whole number from 1."]);
    if (values.epsilon && !(Number(values.epsilon) > 0 && Number(values.epsilon) <= 100)) problems.push([epsilon, "Write ε as a number above 0, up to 100, as in 2.5."]);
    if (values.max_cells && !((values.max_cells = count(values.max_cells)) >= 1 && values.max_cells <= 1_000_000)) problems.push([cells, "Write the combinations as a whole number from 1 to 1,000,000."]);
    complain(form, problems);
    return problems.length ? null : values;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    found.replaceChildren();
    const values = read();
    if (values === null) return;
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      show(await json("phase", values), values.people);
    } catch (error) {
      if (!(error instanceof Refused) || error.status === 401) stop(error);
      else complain(form, [[null, error.message]]);
    } finally {
      button.disabled = false;
    }
  });

  function show(suggested, expected) {
    const number = (value, digits) => (value === null ? "∞" : value.toFixed(digits));
    const facts = [
      ["ε, most one person spends", number(suggested.epsilon, 2)], ["a typical count would be off by", `${number(100 * suggested.error, 1)} %`],
    ];
    const clusters = () => clusterList(suggested.clusters, "Clusters learnt from the pilot");
    const promise = h("input", { type: "checkbox", id: "others" });
    const open = status().invitations.kind === "none";
    const start = h("form", { id: "begin", novalidate: true },
      open ? h("p", {}, promise, h("label", { for: "others" }, " I ask other people than in the pilot. Whoever answers twice spends both ε."))
        : h("p", {}, "An invitation is good for one answer in whichever phase, so nobody spends both ε."),
      h("p", { class: "buttons" }, h("button", { class: "main", type: "submit" }, "Start the main survey")));
    start.addEventListener("submit", (event) => {
      event.preventDefault();
      const wrong = open && !promise.checked;
      complain(start, wrong ? [[promise, "Tick this if it is true. If it is not, do not start the main survey."]] : []);
      if (wrong) return;
      sure("Start the main survey", [
        h("p", {}, "The pilot takes no more answers, and links to it stop working. This cannot be undone. Learnt from the pilot as going together:"), clusters(),
      ], async () => {
        try {
          tell(await post("phase", { design: suggested.design, people: expected }));
          found.replaceChildren();
          at("done").textContent = "The main survey has begun. Send people the new link.";
          at("standing").focus();
        } catch (error) {
          if (!(error instanceof Refused) || error.status === 401) stop(error);
          else complain(start, [[null, error.message]]);
        }
      });
    });
    const head = h("h3", { tabindex: "-1" }, "What the pilot suggests");
    found.replaceChildren(head,
      h("p", {}, `${whole(suggested.pilot)} people answered the pilot. These go together in their answers:`), clusters(),
      h("p", {}, `The design for the main survey is “${suggested.name}”. Each person reports ${suggested.reported}.`),
      h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))), start);
    head.focus();
  }

  return function follow({ state, phase, invitations: { kind } }) {
    place.closest("section").hidden = phase > 1 || !(state === "open" || (state === "closed" && kind !== "blind"));
  };
}

// ---- Invitations: made by the server, shown this once, handed out as links whose fragment no server sees

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
