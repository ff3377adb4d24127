// The steps of a survey's life: open, close, publish, and from a pilot to the main survey. Each is asked for twice.

import { complain, h } from "./elements.js";
import { count } from "./invitations.js";
import { Refused, json, post } from "./owner.js";

// A step's path, its name, what follows from it, from which states, and whether with blind invitations alone or never.
const STEPS = [
  ["open", "Open the survey", "People can answer from now on.", ["draft"]],
  ["open", "Open the survey", "People can answer from now on.", ["closed"], false],
  ["close", "Close the survey", "Nobody can answer any more until you open it again. The order of arrival is wiped.", ["open"], false],
  ["close", "Close the survey for good", "This is final: the key of the blind invitations is destroyed, and nobody can ever answer this survey again. The order of arrival is wiped.", ["open"], true],
  ["publish", "Publish the estimate", "Everybody can then read the estimate. This is final.", ["closed"]],
];
const at = (name) => document.getElementById(name);

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
      h("p", {}, `${new Intl.NumberFormat("en").format(suggested.pilot)} people answered the pilot. These go together in their answers:`), clusters(),
      h("p", {}, `The design for the main survey is “${suggested.name}”. Each person reports ${suggested.reported}.`),
      h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))), start);
    head.focus();
  }

  return function follow({ state, phase, invitations: { kind } }) {
    place.closest("section").hidden = phase > 1 || !(state === "open" || (state === "closed" && kind !== "blind"));
  };
}
