// The single-record randomizer in the browser: the twin of mdrr/respondent.py, held by vectors/.
//
// It takes a published design (its JSON, parsed), one true record and random bytes, and gives the
// report. The same bytes give the same report as in Python. All arithmetic is on integers below
// 2^53, so numbers are exact; sums and products that a bad design could push beyond are BigInt.
//
// One person uses a fixed number of bytes, whatever she is asked and answers. With several
// questionnaires the first draw picks one; then each cluster takes one draw, little-endian.

const TOTALS = [2 ** 16, 2 ** 32, 2 ** 48];

export class DesignError extends Error {}
export class RecordError extends Error {}

// ---- Drawing

// The system's random bytes: the only source of chance on the page.
export function randomBytes(count) {
  return crypto.getRandomValues(new Uint8Array(count));
}

export function respond(record, design, mark, bytes) {
  const { chosen, used } = choose(design, bytes);
  return { design: mark, questionnaire: chosen, codes: codes(record, design, chosen, bytes.subarray(used)) };
}

// The questionnaire that the first bytes pick, and how many bytes that used.
export function choose(design, bytes) {
  const used = choiceBytes(design);
  if (bytes.length < used) throw new DesignError(`${used} random bytes are needed`);
  if (used === 0) return { chosen: 0, used };
  const weights = design.questionnaires.map((q) => q.weight);
  return { chosen: stretch(weights, integer(bytes, 0, used)), used };
}

// One code per cluster of the chosen questionnaire. `bytes` are those after the choice.
export function codes(record, design, chosen, bytes) {
  const needed = recordBytes(design) - choiceBytes(design);
  if (bytes.length !== needed) throw new DesignError(`${needed} random bytes are needed`);
  const labels = new Map(design.attributes.map((a) => [a.name, a.categories]));
  let used = 0;
  return design.questionnaires[chosen].clusters.map((cluster) => {
    const cell = cluster.attributes.reduce(
      (at, name) => at * labels.get(name).length + position(labels.get(name), record, name), 0);
    const size = drawBytes(totalOf(cluster.matrix));
    used += size;
    return draw(cluster.matrix, cell, integer(bytes, used - size, size));
  });
}

// The code reported for a true cell, given u uniform on [0, D).
export function draw(matrix, cell, u) {
  if (matrix.kind === "public") return cell;
  if (matrix.kind === "constant") {
    const noise = quotient(u, matrix.off);
    return noise < matrix.cells ? noise : cell;
  }
  if (matrix.kind === "dense") return stretch(matrix.weights[cell], u);
  const { low, total } = matrix;
  const { codes, size, middle, around } = raised(matrix);
  if (u < codes * low) return quotient(u, low);
  const place = quotient(u - codes * low, quotient(total - codes * low, size));
  return around(cell, place < size ? place : middle);
}

// What banded and subset matrices share: `low` on every code, more on `size` codes around the truth.
export function raised(matrix) {
  if (matrix.kind === "banded") {
    const { cells, width } = matrix;
    return { codes: cells + 2 * width, size: 2 * width + 1, middle: width, around: (cell, place) => cell + place };
  }
  const { codes, block } = matrix;
  const around = (cell, place) => (cell - block[place] + codes) % codes;
  return { codes, size: block.length, middle: 0, around };
}

// How many codes can be reported.
export function outcomes(matrix) {
  if (matrix.kind === "constant" || matrix.kind === "public") return matrix.cells;
  return matrix.kind === "dense" ? matrix.weights[0].length : raised(matrix).codes;
}

// D, the sum of a row's weights; 1 where nothing is drawn.
export function totalOf(matrix) {
  if (matrix.kind === "public") return 1;
  if (matrix.kind === "constant") return matrix.diagonal + (matrix.cells - 1) * matrix.off;
  return matrix.kind === "dense" ? matrix.weights[0].reduce((a, b) => a + b, 0) : matrix.total;
}

export function recordBytes(design) {
  const sizes = design.questionnaires.map((q) =>
    q.clusters.reduce((sum, c) => sum + drawBytes(totalOf(c.matrix)), 0));
  return choiceBytes(design) + Math.max(...sizes);
}

export function choiceBytes(design) {
  const weights = design.questionnaires.map((q) => q.weight);
  return weights.length > 1 ? drawBytes(weights.reduce((a, b) => a + b, 0)) : 0;
}

// The bytes of one uniform draw on [0, total): 0 for 1, and 2, 4 or 6.
function drawBytes(total) {
  return total === 1 ? 0 : 2 * (TOTALS.indexOf(total) + 1);
}

function integer(bytes, start, size) {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + bytes[start + i];
  return value;
}

// floor(u / by), without rounding.
function quotient(u, by) {
  return (u - (u % by)) / by;
}

// In which of the stretches laid end to end u lies.
function stretch(weights, u) {
  let end = 0;
  for (let i = 0; i < weights.length; i++) {
    end += weights[i];
    if (u < end) return i;
  }
  throw new DesignError("a draw beyond the total");
}

// Where an answer stands among the categories; the answer is not repeated in errors.
function position(labels, record, name) {
  const answer = Object.hasOwn(record, name) ? record[name] : null;
  const at = labels.findIndex((label) => label === answer);
  if (at >= 0) return at;
  throw new RecordError(answer === null || answer === undefined
    ? `there is no answer to '${name}'`
    : `the answer to '${name}' is not one of its ${labels.length} categories`);
}

// ---- Checking

// SHA-256 of a design's canonical JSON, or of a survey's words: UTF-8, keys sorted by code point, no
// blanks.
export async function fingerprint(published) {
  const { fingerprint: _, ...fields } = published;
  return sha256(canonical(fields));
}

export async function sha256(text) {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

export function hex(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isMapping(value)) {
    const keys = Object.keys(value).sort(byCodePoint);
    return `{${keys.map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new DesignError("the design is not as published: a number is no integer below 2^53");
  }
  if (typeof value === "string" && /\p{Cs}/u.test(value)) {
    throw new DesignError("the design is not as published: it cannot be read");
  }
  return JSON.stringify(value);
}

function byCodePoint(a, b) {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((letter, i) => letter !== right[i]);
  if (at < 0) return left.length - right.length;
  return at < right.length ? left[at].codePointAt(0) - right[at].codePointAt(0) : 1;
}

// The design's fingerprint, or an error when it is not as published or its draws are unfair.
export async function check(design) {
  try {
    if (!isMapping(design)) throw new DesignError("this is not a design");
    const mark = await fingerprint(design);
    checkFields(design, mark);
    return mark;
  } catch (error) {
    if (error instanceof DesignError) throw error;
    throw new DesignError("the design is not as published: it cannot be read");
  }
}

function checkFields(design, mark) {
  if (design.mdrr !== 1 || (Object.hasOwn(design, "fingerprint") && design.fingerprint !== mark)) {
    throw new DesignError("the design is not as published: its format or fingerprint is another");
  }
  const attributes = new Map();
  for (const attribute of design.attributes) {
    const { name, categories } = attribute;
    if (typeof name !== "string" || attributes.has(name) || !Array.isArray(categories)) {
      throw new DesignError("an attribute has no name of its own or no categories");
    }
    for (const text of [name, ...categories]) {
      if (!["string", "boolean", "number"].includes(typeof text) || !readable(String(text))) {
        throw new DesignError("a name or category has characters that cannot be shown");
      }
    }
    if (new Set(categories).size < categories.length) {
      throw new DesignError(`'${name}' lists a category twice`);
    }
    if (Object.hasOwn(attribute, "public") && attribute.public !== true) {
      throw new DesignError(`'${name}': 'public' is there only if it is true`);
    }
    attributes.set(name, attribute);
  }
  if ([...attributes.values()].every((attribute) => attribute.public)) {
    throw new DesignError("all attributes are public, so there is nothing to randomize");
  }
  const { questionnaires } = design;
  if (questionnaires.length === 0) throw new DesignError("a design needs at least one questionnaire");
  for (const q of questionnaires) checkQuestionnaire(q, attributes);
  const sum = total(questionnaires.map((q) => q.weight));
  if (questionnaires.length > 1 && !TOTALS.includes(Number(sum))) {
    throw new DesignError("the questionnaires' weights do not sum to 2^16, 2^32 or 2^48");
  }
}

function checkQuestionnaire(q, attributes) {
  const asked = q.clusters.flatMap((c) => c.attributes);
  const empty = asked.length === 0 || q.clusters.some((c) => c.attributes.length === 0);
  if (empty || new Set(asked).size < asked.length) {
    throw new DesignError("a questionnaire asks nothing, or an attribute twice");
  }
  if (!Number.isSafeInteger(q.weight) || q.weight < 1) {
    throw new DesignError("a questionnaire's weight is a positive integer");
  }
  for (const [name, attribute] of attributes) {
    if (attribute.public === true && !asked.includes(name)) {
      throw new DesignError(`'${name}' is public and not in every questionnaire`);
    }
  }
  for (const { attributes: names, matrix } of q.clusters) {
    const fields = names.map((name) => attributes.get(name));
    if (fields.includes(undefined)) throw new DesignError("a cluster has an unknown attribute");
    const open = fields.some((attribute) => attribute.public === true);
    if (open !== (matrix.kind === "public") || (open && names.length > 1)) {
      throw new DesignError(`'${names.join("+")}' is public for one and not for the other`);
    }
    if (!fair(matrix, fields.reduce((cells, a) => cells * a.categories.length, 1))) {
      throw new DesignError(`the weights for '${names.join("+")}' are not fair`);
    }
  }
}

function fair(matrix, cells) {
  const numbers = Object.entries(matrix).filter(([key]) => key !== "kind").map(([, value]) => value);
  if (!numbers.every(whole) || cells < 1) return false;
  if (matrix.kind !== "dense" && matrix.cells !== cells) return false;
  if (matrix.kind === "public") return true;
  if (matrix.kind === "constant") {
    const sum = BigInt(matrix.diagonal) + BigInt(cells - 1) * BigInt(matrix.off);
    return 0 < matrix.off && matrix.off < matrix.diagonal && TOTALS.includes(Number(sum));
  }
  if (matrix.kind === "dense") {
    const rows = matrix.weights;
    return rows.length === cells && TOTALS.includes(Number(total(rows[0])))
      && rows.every((row) => row.length === rows[0].length && total(row) === total(rows[0]))
      && rows.every((row) => row.every((weight) => weight >= 0));
  }
  if (matrix.kind !== "banded" && matrix.kind !== "subset") {
    throw new DesignError("unknown kind of matrix");
  }
  if (matrix.kind === "banded" && !(matrix.width >= 0)) return false;
  if (matrix.kind === "subset") {
    const { block, codes } = matrix;
    const inside = block.every((shift, i) => shift > (i ? block[i - 1] : -1) && shift < codes);
    if (!inside || cells > codes) return false;
  }
  const { codes, size } = raised(matrix);
  const room = BigInt(matrix.total) - BigInt(codes) * BigInt(matrix.low);
  return matrix.low > 0 && 0 < size && BigInt(size) <= room && TOTALS.includes(matrix.total);
}

// Whether a stored report is one that somebody can have made under the design.
export function fits(report, design, mark) {
  const known = ["design", "questionnaire", "codes", "id"];
  if (!isMapping(report) || !Object.keys(report).every((key) => known.includes(key))) return false;
  const { questionnaire: q, codes: sent } = report;
  if (report.design !== mark || !Number.isSafeInteger(q) || !Array.isArray(sent)) return false;
  const clusters = design.questionnaires[q]?.clusters;
  return clusters !== undefined && sent.length === clusters.length && sent.every(
    (code, i) => Number.isSafeInteger(code) && code >= 0 && code < outcomes(clusters[i].matrix));
}

// No control characters, line separators or lone surrogates.
function readable(text) {
  return !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
}

function whole(value) {
  return Array.isArray(value) ? value.every(whole) : Number.isSafeInteger(value);
}

function total(weights) {
  return weights.reduce((sum, weight) => sum + BigInt(weight), 0n);
}

function isMapping(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
