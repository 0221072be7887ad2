"use strict";
// Exact sums of prices: whole numbers of 1 / perUnit of the money. See costframe/core/prices/exact_prices.py.

// The decimal number that people write for a double >= 0, as a quotient of whole numbers.
function exact(number) {
  const [digits, power] = number.toExponential().split("e");
  const [whole, part = ""] = digits.split(".");
  const shift = BigInt(power) - BigInt(part.length);
  const value = BigInt(whole + part);
  return shift >= 0n ? [value * 10n ** shift, 1n] : [value, 10n ** -shift];
}

// The double nearest to a quotient of whole numbers >= 0; of equally near ones, the even one.
function divide(above, below) {
  const bits = (number) => number.toString(2).length;
  const shift = Math.max(0, 66 + bits(below) - bits(above));
  const scaled = above << BigInt(shift);
  const quotient = scaled / below;
  const odd = quotient * below === scaled ? 0n : 1n; // so that what is left decides ties
  return Number(quotient | odd) * 2 ** -shift;
}

// The next double above a number, or below it.
function nextAfter(number, up) {
  const words = new BigInt64Array(new Float64Array([number]).buffer);
  if (number === 0) words[0] = up ? 1n : -(2n ** 63n) + 1n;
  else words[0] += (number > 0) === up ? 1n : -1n;
  return new Float64Array(words.buffer)[0];
}

// The least double that is written as a number not below a quotient.
function roundedUp(above, below) {
  const quotient = divide(above, below);
  const [top, bottom] = exact(quotient);
  return top * below >= above * bottom ? quotient : nextAfter(quotient, true);
}

// A sum of 1 / perUnit in money.
function money(units, perUnit) {
  return units <= 10n ** 15n && perUnit <= 10n ** 22n ? Number(units) / Number(perUnit) : roundedUp(units, perUnit);
}

// The exact sum of finite doubles, rounded once.
function sumDoubles(numbers) {
  let total = 0n;
  for (const number of numbers) {
    const bits = new BigUint64Array(new Float64Array([Math.abs(number)]).buffer)[0];
    const power = bits >> 52n;
    const fraction = bits & (2n ** 52n - 1n);
    const units = power === 0n ? fraction : (fraction | (2n ** 52n)) << (power - 1n);
    total += number < 0 ? -units : units;
  }
  if (total === 0n) return 0;
  return total < 0n ? -divide(-total, 2n ** 1074n) : divide(total, 2n ** 1074n);
}

// What a cap leaves to a row that has spent some of it.
function leftOf(cap, spent) {
  if (cap === Infinity) return cap;
  const [[a, b], [c, d]] = [exact(cap), exact(spent)];
  const [above, below] = [a * d - c * b, b * d];
  if (above <= 0n) return 0;
  const nearest = divide(above, below), [top, bottom] = exact(nearest);
  return top * below <= above * bottom ? nearest : nextAfter(nearest, false);
}

// What rows pay: features, and the resources that they need, each once; `paid` resources cost nothing.
class Prices {
  constructor({ per_unit, cost, resource, needs, rounds }) {
    this.perUnit = BigInt(per_unit);
    this.cost = cost.map(BigInt);
    this.resource = resource.map(BigInt);
    this.needs = needs;
    this.rounds = rounds === null ? null : new RoundPrices(rounds);
  }

  resourcesOf(features, paid = new Set()) {
    return new Set(features.flatMap((f) => this.needs[f]).filter((r) => !paid.has(r)));
  }

  // The price of buying features after others, in one round, in which some `came` already; see `Ledger`.
  quote(features, bought, came, known) {
    const had = new Set([...bought, ...came, ...known]), fresh = features.filter((f) => !had.has(f));
    const before = this.resourcesOf([...bought, ...known]), paid = this.resourcesOf([...had]);
    const again = this.again([...came, ...fresh], before) - this.again(came, before);
    return money(this.units(fresh, paid) + again, this.perUnit);
  }

  // The units for going again, in a round for features, to resources paid before.
  again(features, paid) { return this.rounds === null ? 0n : this.rounds.units(features, paid); }

  // The same for all rounds of a row, each a list of features.
  againIn(rounds, known) {
    const had = [...known];
    return rounds.reduce((units, features) => {
      const again = this.again(features, this.resourcesOf(had));
      had.push(...features);
      return units + again;
    }, 0n);
  }

  units(features, paid) {
    let total = features.reduce((sum, f) => sum + this.cost[f], 0n);
    for (const r of this.resourcesOf(features, paid)) total += this.resource[r];
    return total;
  }

  // The price of features beyond resources paid, of going again, in units, and of what was evaluated, a quotient of whole
  // numbers.
  total(features, paid, again, [above, below] = [0n, 1n]) {
    const units = this.units(features, paid) + again;
    if (above === 0n && again === 0n) return money(units, this.perUnit);
    return roundedUp(above * this.perUnit + units * below, below * this.perUnit);
  }
}
