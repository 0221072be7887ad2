// Why an inquiry asks, or why it stopped, as a sentence: that of `Why` in costframe/core/predictors/reasons.py.

// The first digits of a finite number other than zero, and the power of ten of the first; ties go to the even digit.
function roundDigits(number, count) {
  const [long, power] = Math.abs(number).toExponential(99).split("e");
  const all = long.replace(".", ""), rest = all.slice(count);
  const isOdd = Number(all[count - 1]) % 2 === 1;
  const up = rest[0] > "5" || (rest[0] === "5" && (isOdd || /[1-9]/.test(rest.slice(1))));
  const digits = String(BigInt(all.slice(0, count)) + (up ? 1n : 0n));
  return digits.length > count ? [digits.slice(0, count), Number(power) + 1] : [digits, Number(power)];
}

// A number with some digits, as Python's format "g" has it.
function formatDigits(number, count) {
  if (Number.isNaN(number)) return "nan";
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  if (!Number.isFinite(number)) return `${sign}inf`;
  if (number === 0) return `${sign}0`;
  const [digits, power] = roundDigits(number, count);
  const short = digits.replace(/0+$/, "");
  if (power < -4 || power >= count) {
    const part = short.length > 1 ? `.${short.slice(1)}` : "";
    return `${sign}${short[0]}${part}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${short}`;
  const whole = short.padEnd(power + 1, "0");
  return sign + (whole.length > power + 1 ? `${whole.slice(0, power + 1)}.${whole.slice(power + 1)}` : whole);
}

function formatShare(part) {
  if (part > 0 && part < 0.01) return "under 1%";
  if (part === 0) return "0%";
  const [digits, power] = roundDigits(100 * part, Number((100 * part).toExponential(99).split("e")[1]) + 1);
  return `${digits.padEnd(power + 1, "0")}%`;
}

const SHOWN_REASONS = 3;
const CAUSES = {
  complete: "the model has read all it needs", certain: "the answer is certain",
  max_cost: "the row cannot pay more within its cap", unavailable: "it cannot have a feature that it would read next",
  "nothing pays": "nothing further pays",
};

// Grounds, {asks, cause, further, tradeoff} of {columns, gain, unit, purpose, runnerUp}, as sentences; `name` names a
// column, and `quote` prices some.
class Why {
  constructor(grounds, name, quote, currency) {
    const reason = ({ columns, gain = null, unit = null, purpose = "", runnerUp = null }) => ({
      names: columns.map(name), gain: gain !== null && Number.isFinite(gain) ? gain : null, unit, purpose,
      price: quote(columns), runnerUp: runnerUp === null ? null : reason(runnerUp),
    });
    const { asks = [], cause = null, further = [], tradeoff = null } = grounds;
    const order = (one) => one.gain ?? -Infinity;
    this.asks = asks.map(reason).sort((a, b) => (order(a) === order(b) ? 0 : order(b) - order(a)));
    this.price = quote([...new Set(asks.flatMap(({ columns }) => columns))]);
    Object.assign(this, { cause, further: further.map(reason), tradeoff, currency });
  }

  get text() {
    if (this.cause !== null) return `it stops since ${CAUSES[this.cause] ?? this.cause}${this.left()}`;
    const sentences = this.asks.slice(0, SHOWN_REASONS).map((reason) => this.sentence(reason));
    if (this.asks.length > 1) {
      const more = this.asks.length - sentences.length;
      const also = more ? `${formatCount(more, "further feature")}, ` : "";
      sentences.push(`${also}all together ${this.priced(this.price)}`);
    }
    return sentences.join("\n");
  }

  // The sentence of what is asked with a name.
  sentenceOf(name) { return this.sentence(this.asks.find(({ names }) => names.includes(name))); }

  sentence({ names, gain, unit, purpose, price, runnerUp }) {
    const [verb, them] = names.length === 1 ? ["is", "it"] : ["are", "them"];
    const said = `${listNames(names)} ${verb} asked`, priced = this.priced(price);
    if (gain === null) return `${said} ${priced}${purpose ? `: ${purpose}` : ""}`;
    let text;
    if (unit === "weight") text = `${said} since ${formatShare(gain)} of the model's weight waits for ${them}, ${priced}`;
    else text = `${said} since ${verb === "is" ? "it is" : "they are"} expected ${this.effect(gain, unit)} ${priced}`;
    return text + this.nextBest(runnerUp);
  }

  effect(gain, unit) {
    if (unit === "money") return gain > 0 ? `to save ${this.money(gain)} of errors` : "to save no errors";
    const worth = this.tradeoff ? `, worth ${this.money(gain / this.tradeoff)},` : "";
    return gain > 0 ? `to lower the loss by ${formatDigits(gain, 3)}${worth}` : "not to lower the loss";
  }

  nextBest(other) {
    if (other === null) return "";
    const gain = other.gain === null ? "" : ` ${formatDigits(other.gain, 3)}`;
    return `; next best ${listNames(other.names)},${gain} for ${formatDigits(other.price, 4)}`;
  }

  left() {
    if (this.further.length === 0) return "";
    const [{ names, gain, unit, price }] = this.further;
    if (gain !== null && unit !== "weight") {
      return `; next best ${listNames(names)}, expected ${this.effect(gain, unit)} for ${this.money(price)}`;
    }
    if (gain !== null) {
      const gone = this.further.slice(0, SHOWN_REASONS)
        .map((reason) => `${listNames(reason.names)} (${formatShare(reason.gain)}, ${this.money(reason.price)})`);
      return `; of the model's weight it gave up what waits for ${gone.join(", ")}`;
    }
    return `; ${listNames(names)} would cost ${this.money(price)}`;
  }

  priced(amount) { return amount ? `for ${this.money(amount)}` : "at no cost"; }

  money(amount) { return `${formatDigits(amount, 4)} ${this.currency}`; }
}
