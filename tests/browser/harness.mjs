// Runs the page's randomizer under Node: a JSON task on standard input, a JSON answer on output.
//
// Chance is known: a keystream of AES-256 in counter mode stands for the system's bytes, unless the
// task says "system". Math.random always gives the same number, so whoever used it would be seen.

import { createCipheriv, webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { agree, drawn, words } from "./tasks.mjs";

globalThis.crypto ??= webcrypto; // Node 18 has it, but not by that name
const task = JSON.parse(readFileSync(0, "utf8"));
const folder = pathToFileURL(`${task.folder}/`);
const randomizer = await import(new URL("randomize.js", folder));
const risk = await import(new URL("risk.js", folder));
Math.random = () => 0.25;
if (!task.system) {
  const stream = createCipheriv("aes-256-ctr", Buffer.alloc(32, task.seed ?? 1), Buffer.alloc(16));
  Object.defineProperty(globalThis.crypto, "getRandomValues", {
    value: (array) => {
      array.set(stream.update(Buffer.alloc(array.length)));
      return array;
    },
  });
}
const run = { agree, drawn, words }[task.name];
process.stdout.write(JSON.stringify(await run(randomizer, risk, task)));
