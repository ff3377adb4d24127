// What the tests ask of the page's modules, the same in Node and in a browser.

// For each case: the design's fingerprint or why it is refused, its ε, and the reports of its people.
export async function agree(randomizer, risk, { cases }) {
  const found = [];
  for (const { design, people = [], report } of cases) {
    try {
      const mark = await randomizer.check(design);
      const asked = design.attributes.map((a) => [a.name, epsilonOfAttribute(risk, design, a.name)]);
      found.push({
        mark,
        canonical: randomizer.canonical(design),
        bytes: randomizer.recordBytes(design),
        epsilon: written(risk.epsilonOfDesign(design)),
        questionnaires: design.questionnaires.map((q) => written(risk.epsilonOf(q))),
        attributes: Object.fromEntries(asked.map(([name, value]) => [name, written(value)])),
        fits: report === undefined ? null : randomizer.fits(report, design, mark),
        reports: people.map(({ record, bytes }) => {
          try {
            return randomizer.respond(record, design, mark, fromHex(bytes));
          } catch (error) {
            if (!(error instanceof randomizer.RecordError)) throw error;
            return { refused: error.message };
          }
        }),
      });
    } catch (error) {
      if (!(error instanceof randomizer.DesignError)) throw error;
      found.push({ refused: error.message });
    }
  }
  return found;
}

// The fingerprint of each survey's words, and the text that it is of.
export async function words(randomizer, _, { surveys }) {
  const marks = surveys.map((survey) => randomizer.fingerprint(survey));
  return { marks: await Promise.all(marks), texts: surveys.map(randomizer.canonical) };
}

// How often each code is reported: for every cell of every cluster of the first questionnaire, with
// the bytes drawn as the page draws them, and how often each questionnaire is picked.
export function drawn(randomizer, _, { design, n }) {
  const { randomBytes, recordBytes, choiceBytes, choose, codes, outcomes } = randomizer;
  const needed = recordBytes(design) - choiceBytes(design);
  const clusters = design.questionnaires[0].clusters;
  const rows = clusters[0].matrix.cells ?? clusters[0].matrix.weights.length;
  const counts = Array.from({ length: rows }, () => clusters.map((c) => new Array(outcomes(c.matrix) + 1).fill(0)));
  const picked = new Array(design.questionnaires.length).fill(0);
  counts.forEach((row, cell) => {
    const record = Object.fromEntries(design.attributes.map((a) => [a.name, a.categories[cell]]));
    for (let i = 0; i < n; i++) {
      codes(record, design, 0, randomBytes(needed)).forEach((code, j) => {
        row[j][Math.min(code, row[j].length - 1)] += 1;
      });
    }
  });
  for (let i = 0; i < n; i++) picked[choose(design, randomBytes(choiceBytes(design))).chosen] += 1;
  return { counts, picked };
}

// The largest ε over the clusters that report an attribute; 0 where it is public.
function epsilonOfAttribute({ epsilon, ratio }, design, name) {
  const clusters = design.questionnaires.flatMap((q) => q.clusters);
  const ratios = clusters.filter((c) => c.attributes.includes(name)).map((c) => ratio(c.matrix));
  return Math.max(0, ...ratios.filter((r) => r !== null).map(epsilon));
}

function written(value) {
  return value === Infinity ? "Infinity" : value;
}

function fromHex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
