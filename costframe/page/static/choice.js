// The units of least expected loss that a cap pays for: see `Choice.expected` in costframe/core/stages/cap_ranks.py. Prices
// are whole numbers and losses lie on a grid, so that their sums are exact in any order.

const MOST_ALL = 10, MOST_PAIRED = 64, MOST_FIRST = 2, SMALL = 1e-6;

class Choice {
  // `units` are {features, cost, needs}, features by their places in the sets of losses, as those of `base`.
  constructor({ least, some, every, sets }, units, resources, base) {
    Object.assign(this, { least, some, every, units, resources });
    const has = sets.map((set) => new Set(set));
    const count = (features) => has.map((set) => features.filter((u) => set.has(u)).length);
    this.sizes = sets.map((set) => set.length);
    this.counts = units.map(({ features }) => count(features));
    this.nothing = { units: units.map(() => false), price: 0, resources: new Set(), found: count(base) };
    this.total = this.priceOf(units);
  }

  // The numbers of the units of least expected loss within a cap.
  expected(cap) {
    const { length } = this.units;
    const chosen = length <= MOST_ALL ? this.bestOfAll(cap) : this.bestOf(this.starts(cap));
    return this.units.flatMap((_, i) => (chosen.units[i] ? [i] : []));
  }

  bestOfAll(cap) {
    const sets = [];
    for (let bits = 0; bits < 1 << this.units.length; ++bits) {
      const inside = this.units.map((_, i) => (bits >> i & 1) === 1);
      const price = this.priceOf(this.units.filter((_, i) => inside[i]));
      if (price > cap) continue;
      const found = this.nothing.found.map((n, s) => this.counts.reduce((sum, count, i) => sum + (inside[i] ? count[s] : 0), n));
      sets.push({ units: inside, price, found });
    }
    return this.bestOf(sets);
  }

  // The first of least loss, of equal ones the cheapest.
  bestOf(sets) {
    let best = null, least = Infinity;
    for (const one of sets) {
      const loss = this.loss(one.found);
      if (best === null || loss < least || (loss === least && one.price < best.price)) [best, least] = [one, loss];
    }
    return best;
  }

  starts(cap) {
    const starts = [true, false].map((byPrice) => this.fill(this.nothing, cap, byPrice));
    if (this.units.length > MOST_PAIRED) return starts;
    const gains = this.gains(this.nothing), prices = this.prices(this.nothing);
    const dear = gains.map((_, i) => i).sort((a, b) => gains[b] - gains[a] || a - b).slice(0, MOST_FIRST);
    return [...starts, ...dear.filter((i) => prices[i] <= cap).map((i) => this.fill(this.with(this.nothing, i), cap, true))];
  }

  // Add units while any gains and can be paid, those first that gain most, for their price or in all.
  fill(chosen, cap, byPrice) {
    while (true) {
      const prices = this.prices(chosen), gains = this.gains(chosen);
      let next = null, most = -Infinity;
      gains.forEach((gain, i) => {
        if (chosen.units[i] || chosen.price + prices[i] > cap) return;
        const worth = byPrice ? gain / Math.max(prices[i] / this.total, SMALL) : gain;
        if (worth > most) [next, most] = [i, worth];
      });
      if (next === null || most <= 0) return chosen;
      chosen = this.with(chosen, next);
    }
  }

  with(chosen, i) {
    return {
      units: chosen.units.map((has, j) => has || i === j),
      price: chosen.price + this.prices(chosen)[i],
      resources: new Set([...chosen.resources, ...this.units[i].needs]),
      found: add(chosen.found, this.counts[i]),
    };
  }

  // The price of each unit beside those chosen.
  prices({ resources }) {
    return this.units.map(({ cost, needs }) => needs.reduce((sum, r) => sum + (resources.has(r) ? 0 : this.resources[r]), cost));
  }

  priceOf(units) {
    const needed = new Set(units.flatMap(({ needs }) => needs));
    return [...needed].reduce((sum, r) => sum + this.resources[r], units.reduce((sum, { cost }) => sum + cost, 0));
  }

  // The gain of each unit beside those chosen; of many units, beside none and beside all others.
  gains({ found }) {
    if (this.units.length > MOST_PAIRED) return (this.alone ??= this.gainsAlone());
    const now = this.loss(found);
    return this.counts.map((count) => now - this.loss(add(found, count)));
  }

  gainsAlone() {
    const none = this.nothing.found, every = this.counts.reduce(add, none);
    return this.counts.map((count) => {
      const first = this.loss(add(none, count)), last = this.loss(every.map((n, s) => n - count[s]));
      return this.loss(none) - first + last - this.loss(every);
    });
  }

  // The expected loss of a row with so many features of each set; see `AbsenceLosses`.
  loss(found) {
    const { least, some, every, sizes } = this;
    let lackingSome = 0, lackingAll = 0;
    found.forEach((n, s) => {
      if (n < sizes[s]) lackingSome += some[s];
      if (n === 0 && sizes[s] > 0) lackingAll += every[s];
    });
    return least + lackingSome + lackingAll;
  }
}

function add(a, b) { return a.map((value, i) => value + b[i]); }
