// Runs the page's blind.js under Node: JSON tasks on standard input, JSON answers on output.
// Bytes are base64url; `factor` and `salt` stand for chance where a vector says what it gave.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

globalThis.crypto ??= webcrypto;
const { folder, tasks } = JSON.parse(readFileSync(0, "utf8"));
const page = await import(new URL("blind.js", pathToFileURL(`${folder}/`)));
const { fromText, toText } = page;

const run = {
  async encode({ message, bits, salt }) {
    return toText(await page.encode(fromText(message), bits, fromText(salt)));
  },
  async blind({ message, key, salt, factor }) {
    const chance = factor === undefined ? {} : { salt: fromText(salt), factor: BigInt(factor) };
    const made = await page.blind(fromText(message), await page.readKey(fromText(key)), chance);
    return { message: toText(made.message), inverse: toText(made.inverse) };
  },
  async finalize({ message, reply, inverse, key }) {
    const known = await page.readKey(fromText(key));
    return toText(await page.finalize(fromText(message), fromText(reply), fromText(inverse), known));
  },
  async verify({ message, signature, key }) {
    return page.verify(fromText(message), fromText(signature), await page.readKey(fromText(key)));
  },
  // A server that answers as told, to see what is sent, kept and sent again.
  async redeem({ invitation, key, replies, kept }) {
    const sent = [];
    let stored = kept ?? null;
    globalThis.fetch = async (url, { body }) => {
      sent.push({ url, ...JSON.parse(body) });
      const reply = replies[sent.length - 1];
      if (reply === null) throw new TypeError("the connection broke");
      return { ok: reply.status === undefined, status: reply.status, json: async () => reply };
    };
    const keep = { read: () => stored, write: (value) => { stored = value; } };
    const outcomes = [];
    for (let i = 0; i < replies.length; i++) {
      try {
        outcomes.push(await page.redeem({ invitation, key, url: "/sign", keep }));
      } catch (error) {
        outcomes.push({ refused: error.message, status: error.status ?? null });
      }
    }
    return { sent, stored, outcomes };
  },
};

const answers = [];
for (const { name, ...task } of tasks) {
  try {
    answers.push(await run[name](task));
  } catch (error) {
    if (!(error instanceof page.BlindError)) throw error;
    answers.push({ refused: error.message });
  }
}
process.stdout.write(JSON.stringify(answers));
