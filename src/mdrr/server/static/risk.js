// What a report reveals, computed from the integers that are drawn (paper, equation 4).
//
// A ratio is a pair of integers [high, low]: however the record reads, a report is at most
// high / low times likelier under one true answer than under another. By Bayes that is also the
// largest factor by which it changes anybody's odds. low = 0 means that there is no limit.

import { outcomes, raised, totalOf } from "./randomize.js";

// The worst ratio of a matrix. A public one is outside ε: null.
export function ratio(matrix) {
  if (matrix.kind === "public") return null;
  if (matrix.kind === "constant") return [matrix.diagonal, matrix.off];
  return columns(matrix).reduce((worst, column) => (above(column, worst) ? column : worst), [1, 1]);
}

// The largest and smallest weight of every reported code over the true cells.
function columns(matrix) {
  if (matrix.kind === "dense") {
    return matrix.weights[0]
      .map((_, code) => matrix.weights.map((row) => row[code]))
      .map((column) => [column.reduce((a, b) => Math.max(a, b)), column.reduce((a, b) => Math.min(a, b))])
      .filter(([high]) => high > 0);
  }
  const { cells, low, total } = matrix;
  const { codes, size, middle, around } = raised(matrix);
  const step = Number((BigInt(total) - BigInt(codes * low)) / BigInt(size));
  const left = total - codes * low - step * size;
  const holding = new Array(codes).fill(0);
  const most = new Array(codes).fill(low);
  for (let cell = 0; cell < cells; cell++) {
    for (let place = 0; place < size; place++) {
      const code = around(cell, place);
      holding[code] += 1;
      most[code] = Math.max(most[code], low + step + (place === middle ? left : 0));
    }
  }
  return most.map((high, code) => {
    if (holding[code] < cells) return [high, low];
    return [high, cells === 1 ? high : low + step];
  });
}

function above([a, b], [c, d]) {
  return BigInt(a) * BigInt(d) > BigInt(c) * BigInt(b);
}

// ln(high / low), never below the exact value: log1p of an exact difference errs by less than
// 2 units in the last place, and 4 are added.
export function epsilon([high, low]) {
  if (low === 0) return Infinity;
  return high === low ? 0 : Math.log1p((high - low) / low) * (1 + 4 * Number.EPSILON);
}

// The sum over the clusters that a person reports, public ones apart; rounded up.
export function epsilonOf(questionnaire) {
  const ratios = questionnaire.clusters.map((c) => ratio(c.matrix)).filter((r) => r !== null);
  const sum = ratios.reduce((sofar, each) => sofar + epsilon(each), 0);
  return ratios.length > 1 ? sum * (1 + ratios.length * Number.EPSILON) : sum;
}

// ε of a design: the largest over its questionnaires.
export function epsilonOfDesign(design) {
  return Math.max(...design.questionnaires.map(epsilonOf));
}

// The chance that the report tells the truth, as a fraction: that the code is the true cell
// (constant; dense and square), lies in its band (banded), or is a set that holds it (subset).
// For dense matrices the largest over the true cells.
export function chanceOfTruth(matrix) {
  if (matrix.kind === "public") return 1;
  if (matrix.kind === "constant") return matrix.diagonal / totalOf(matrix);
  if (matrix.kind === "dense") {
    if (matrix.weights.length !== outcomes(matrix)) return null;
    return Math.max(...matrix.weights.map((row, cell) => row[cell])) / totalOf(matrix);
  }
  const { codes, size } = raised(matrix);
  return 1 - ((codes - size) * matrix.low) / matrix.total;
}

// The true cells that a reported code speaks for: one, a stretch of the scale, or a set. A dense
// matrix with more codes than cells has no such reading: null.
export function cellsOf(matrix, code) {
  if (matrix.kind === "constant" || matrix.kind === "public") return [code];
  if (matrix.kind === "dense") return matrix.weights.length === outcomes(matrix) ? [code] : null;
  const cells = Array.from({ length: matrix.cells }, (_, cell) => cell);
  if (matrix.kind === "banded") {
    return cells.filter((cell) => cell <= code && code <= cell + 2 * matrix.width);
  }
  const block = new Set(matrix.block);
  return cells.filter((cell) => block.has((cell - code + matrix.codes) % matrix.codes));
}

// What a belief of probability q can become, at most.
export function believed(q, epsilon) {
  return q / (q + (1 - q) * Math.exp(-epsilon));
}
