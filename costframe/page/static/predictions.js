// Predictions and classes of scores. See costframe/core/stages/links.py, stages.py and ends.py.

// exp(x) by the steps of costframe/core/stages/exponentials.py, and so with its bits.
const SERIES = [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((n) => {
  let factorial = 1;
  for (let k = 2; k <= n; ++k) factorial *= k;
  return 1 / factorial;
});

function powerOfTwo(exponent) {
  return new Float64Array(new BigUint64Array([BigInt(exponent + 1023) << 52n]).buffer)[0];
}

function exp(value) {
  if (Number.isNaN(value)) return value;
  const x = Math.min(Math.max(value, -746), 710);
  const twos = Math.floor(x * 1.442695040888963387 + 0.5);
  const high = x - twos * 6.93147180369123816490e-1;
  const low = twos * 1.90821492927058770002e-10;
  const r = high - low;
  const rest = high - r - low;
  const series = SERIES.reduce((sum, factor) => sum * r + factor) * (r * r);
  const half = Math.floor(twos * 0.5);
  return (series + (rest + r * rest) + r + 1) * powerOfTwo(half) * powerOfTwo(twos - half);
}

function applyLink(link, scores, level) {
  const each = {
    identity: (s) => s,
    sigmoid: (s) => 1 / (1 + exp(-s)),
    exp,
    step: (s) => (s > 0 ? 1 : 0),
    "signed-square": (s) => s * Math.abs(s),
    ranked: (s) => level + (s < 0 || Object.is(s, -0) ? -1 : 1) * (0.5 / (1 + 1 / Math.abs(s))),
  }[link];
  if (each) return scores.map(each);
  if (link === "normalized" || link === "shares") {
    const total = scores.reduce((sum, s) => sum + s);
    return scores.map((s) => (total !== 0 ? s / total : link === "shares" ? 0 : 1 / scores.length));
  }
  const most = Math.max(...scores);
  const powers = scores.map((s) => exp(s - most)); // of a softmax
  const total = powers.reduce((sum, power) => sum + power);
  return powers.map((power) => power / total);
}

function indexOfMost(numbers) {
  const nan = numbers.findIndex(Number.isNaN);
  return nan >= 0 ? nan : numbers.indexOf(Math.max(...numbers));
}

// Predictions that tell the same class as scores, also where rounding made them equal.
function agreeWithScores(predictions, scores, { cut, half }) {
  if (predictions.length === 1) {
    const [value] = predictions;
    return [scores[0] > cut ? Math.max(value, nextAfter(half, true)) : Math.min(value, half)];
  }
  const likeliest = indexOfMost(scores);
  if (indexOfMost(predictions) === likeliest) return predictions;
  return predictions.map((value, k) => (k === likeliest ? nextAfter(Math.max(...predictions), true) : value));
}

function scale(values, temperature) {
  return temperature === 1 ? values : values.map((value) => value / temperature);
}

// A weighted sum of links of some consecutive values each.
function blend({ parts, weights, intercept }, values) {
  const sums = [...intercept];
  let first = 0;
  for (const { link, width, temperature } of parts) {
    const linked = applyLink(link, scale(values.slice(first, first + width), temperature), 0);
    linked.forEach((value, c) => weights[first + c].forEach((weight, k) => { if (weight !== 0) sums[k] += weight * value; }));
    first += width;
  }
  return sums;
}

// The predictions of an answer for scores.
function predict(answer, scores) {
  const blended = answer.blends.reduce((values, one) => blend(one, values), scores);
  const scaled = scale(blended, answer.temperature);
  const values = applyLink(answer.link, scaled, answer.level);
  return answer.agrees ? agreeWithScores(values, scores, answer) : values;
}

// The number of the class of predictions: of least expected error cost where errors have prices, else the one that the
// row's end tells, null if that is the likeliest.
function classOf(values, told, { errors, half }) {
  if (errors === null) return told ?? (values.length === 1 ? Number(values[0] > half) : indexOfMost(values));
  const chances = values.length === 1 ? [1 - values[0], values[0]] : values;
  const expected = chances.map((_, answer) => chances.reduce((sum, p, truth) => sum + p * errors[truth][answer], 0));
  return expected.indexOf(Math.min(...expected));
}
