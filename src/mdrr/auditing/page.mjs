// Runs the respondent page's own randomizer under Node.js: a task on standard input, an answer on output.
//
// Reports are drawn as form.js draws them: bytes for the choice of a questionnaire, then the rest.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

globalThis.crypto ??= webcrypto; // Node 18 has it, but not by that name
const { check, choiceBytes, choose, codes, randomBytes, recordBytes, respond } = await import("./randomize.js");
const task = JSON.parse(readFileSync(0, "utf8"));

function records({ design, codes: columns }) {
  return columns[0].map((_, i) => Object.fromEntries(
    design.attributes.map((a, j) => [a.name, a.categories[columns[j][i]]])));
}

function drawn(design, record) {
  const { chosen } = choose(design, randomBytes(choiceBytes(design)));
  const rest = randomBytes(recordBytes(design) - choiceBytes(design));
  return [chosen, codes(record, design, chosen, rest)];
}

// One report a person: with the bytes given, or with those the page draws.
async function reports() {
  const { design, bytes } = task;
  const mark = await check(design);
  if (bytes === null) return records(task).map((record) => drawn(design, record));
  const [stream, size] = [Buffer.from(bytes, "base64"), recordBytes(design)];
  return records(task).map((record, i) => {
    const own = new Uint8Array(stream.subarray(i * size, (i + 1) * size));
    const report = respond(record, design, mark, own);
    return [report.questionnaire, report.codes];
  });
}

// The same people several times: with the system's bytes, which are kept; with the same bytes again
// under other clocks and another Math.random; with the bits of the first or of
// the second half of them turned; with fresh bytes.
function observed() {
  const system = webcrypto.getRandomValues.bind(webcrypto);
  const genuine = globalThis.crypto === webcrypto || globalThis.crypto.getRandomValues === webcrypto.getRandomValues;
  let pieces = [];
  let give = null;
  Object.defineProperty(globalThis.crypto, "getRandomValues", {
    value: (array) => {
      if (give === null) system(array);
      else array.set(give());
      pieces.push(Uint8Array.from(array));
      return array;
    },
  });
  const people = records(task);
  const once = (next) => {
    pieces = [];
    give = next;
    return people.map((record) => drawn(task.design, record));
  };
  const first = once(null);
  const kept = pieces;
  Math.random = () => 0.25;
  Date.now = () => 1e12;
  performance.now = () => 1;
  let at = 0;
  const again = once(() => kept[at++ % kept.length]);
  const half = Math.floor(kept.length / 2);
  const turned = [true, false].map((early) => {
    at = 0;
    return once(() => {
      const i = at++ % kept.length;
      return (i < half) === early ? kept[i].map((byte) => byte ^ 255) : kept[i];
    });
  });
  const fresh = once(null);
  const sizes = kept.map((piece) => piece.length);
  const repeated = pieces.some((piece, i) => piece.length > 15 && kept[i] && `${piece}` === `${kept[i]}`);
  return { genuine, sizes, repeated, first, again, turned, fresh };
}

const tasks = { version: () => process.version, respond: reports, observe: observed };
process.stdout.write(JSON.stringify(await tasks[task.name]()));
