// Blind signatures for invitations: RSABSSA-SHA384-PSS-Randomized of RFC 9474, the person's side.
//
// The page makes a token and sends it hidden, together with the invitation, to be signed. It takes
// the hiding off the reply. The collector later sees the token and its signature, and cannot tell
// which invitation they came from. The same in Python: mdrr.server.blind.

import { hex, randomBytes } from "./randomize.js";

const EXPONENT = 65537n;
const BITS = [2048, 4096];
const HASH = 48; // bytes of SHA-384, and of the salt
const PREFIX = 32;
const TOKEN = 32;
const ALGORITHM = { name: "RSA-PSS", hash: "SHA-384" };

// A key or a reply that cannot be right; `status` is the collector's, if it refused.
export class BlindError extends Error {
  constructor(message, status = null) {
    super(message);
    this.status = status;
  }
}

// ---- Bytes and numbers

export function toText(bytes) {
  const binary = [...bytes].map((byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function fromText(text) {
  let bytes = new Uint8Array();
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  } catch {
    // what is not base64 differs below
  }
  if (toText(bytes) !== text) throw new BlindError("a text is not base64url without padding");
  return bytes;
}

function toNumber(bytes) {
  return BigInt(`0x0${hex(bytes)}`);
}

function toBytes(number, length) {
  const digits = number.toString(16).padStart(2 * length, "0");
  return Uint8Array.from({ length }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

function join(...parts) {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

// r^65537 mod n: sixteen squarings and one multiplication.
function toExponent(r, n) {
  let power = r;
  for (let i = 0; i < 16; i++) power = (power * power) % n;
  return (power * r) % n;
}

// 1/a mod n by Euclid's algorithm, or null if they share a factor.
function inverseOf(a, n) {
  let [left, right, x, y] = [a % n, n, 1n, 0n];
  while (right !== 0n) {
    const times = left / right;
    [left, right] = [right, left - times * right];
    [x, y] = [y, x - times * y];
  }
  return left === 1n ? ((x % n) + n) % n : null;
}

// Uniform in 1 … n − 1: too large draws are thrown away.
function randomBelow(n, length) {
  for (;;) {
    const drawn = toNumber(randomBytes(length));
    if (drawn > 0n && drawn < n) return drawn;
  }
}

async function sha384(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-384", bytes));
}

// ---- RFC 9474

// The collector's public key from its SubjectPublicKeyInfo.
export async function readKey(spki) {
  let key, fields;
  try {
    key = await crypto.subtle.importKey("spki", spki, ALGORITHM, true, ["verify"]);
    fields = await crypto.subtle.exportKey("jwk", key);
  } catch {
    throw new BlindError("the key of blind invitations cannot be read");
  }
  const n = toNumber(fromText(fields.n));
  const bits = n.toString(2).length;
  if (bits < BITS[0] || bits > BITS[1] || toNumber(fromText(fields.e)) !== EXPONENT) {
    throw new BlindError("the key of blind invitations has a wrong size or exponent");
  }
  return { key, n, bits, length: Math.ceil(bits / 8) };
}

// A token behind 32 random bytes, so that a dishonest key cannot tell tokens apart.
export function prepare(token, prefix = randomBytes(PREFIX)) {
  return join(prefix, token);
}

// MGF1 of RFC 8017.
async function mask(seed, length) {
  const blocks = [];
  for (let i = 0; i * HASH < length; i++) blocks.push(await sha384(join(seed, toBytes(BigInt(i), 4))));
  return join(...blocks).slice(0, length);
}

// EMSA-PSS-ENCODE of RFC 8017.
export async function encode(message, bits, salt) {
  const length = Math.ceil(bits / 8);
  const room = length - HASH - 1;
  const digest = await sha384(join(new Uint8Array(8), await sha384(message), salt));
  const block = join(new Uint8Array(room - salt.length - 1), Uint8Array.of(1), salt);
  const masked = (await mask(digest, room)).map((byte, i) => byte ^ block[i]);
  masked[0] &= 0xff >> (8 * length - bits);
  return join(masked, digest, Uint8Array.of(0xbc));
}

// What is sent to be signed, and the secret that turns the reply into a signature.
export async function blind(prepared, { n, bits, length }, { salt = randomBytes(HASH), factor = randomBelow(n, length) } = {}) {
  const m = toNumber(await encode(prepared, bits - 1, salt));
  const inverse = inverseOf(factor, n);
  if (inverse === null || inverseOf(m, n) === null) throw new BlindError("the key has a small factor");
  return { message: toBytes((m * toExponent(factor, n)) % n, length), inverse: toBytes(inverse, length) };
}

export async function verify(prepared, signature, { key }) {
  return crypto.subtle.verify({ name: ALGORITHM.name, saltLength: HASH }, key, signature, prepared);
}

export async function finalize(prepared, reply, inverse, key) {
  if (reply.length !== key.length) throw new BlindError("the signature that came back has the wrong length");
  const signature = toBytes((toNumber(reply) * toNumber(inverse)) % key.n, key.length);
  if (!(await verify(prepared, signature, key))) throw new BlindError("the signature that came back is not valid");
  return signature;
}

// ---- From an invitation to what goes with the answer

// Exchanges an invitation for a signed token. What was sent is kept first and sent again after a
// lost reply, since an invitation is signed for once. `keep` has read() and write(value).
export async function redeem({ invitation, key: text, url, keep, options = {} }) {
  const key = await readKey(fromText(text));
  const mine = () => {
    const kept = keep.read();
    return kept?.invitation === invitation && kept?.key === text ? kept : null;
  };
  if (mine() === null) {
    const prepared = prepare(randomBytes(TOKEN));
    const { message, inverse } = await blind(prepared, key);
    const made = { prepared: toText(prepared), blinded: toText(message), inverse: toText(inverse) };
    if (mine() === null) keep.write({ invitation, key: text, ...made }); // no other tab was faster
  }
  const { prepared, blinded, inverse, ticket } = mine();
  if (ticket) return ticket;
  const response = await fetch(url, {
    ...options, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ invitation, blinded }),
  });
  if (!response.ok) throw new BlindError("the invitation was not signed", response.status);
  const reply = fromText((await response.json()).signature);
  const signature = await finalize(fromText(prepared), reply, fromText(inverse), key);
  const done = `${prepared}.${toText(signature)}`;
  keep.write({ invitation, key: text, ticket: done }); // the secret that joins the two is gone
  return done;
}
