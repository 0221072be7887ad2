// Prices of going again to resources in further rounds. See `price_round` in costframe/core/prices/basket.py and
// `Needs.visited` in needs.py there.

class RoundPrices {
  constructor({ price, stays, needs, further }) {
    Object.assign(this, { price: price.map(BigInt), stays, needs, further });
  }

  // The units that a round for features pays for going again to resources `paid` before.
  units(features, paid) {
    return [...this.visited(features, paid)].reduce((sum, r) => (paid.has(r) ? sum + this.price[r] : sum), 0n);
  }

  // The resources that the round goes to; those there that stay spare it what they need.
  visited(features, there) {
    const waiting = features.flatMap((f) => this.needs[f]), gone = new Set();
    while (waiting.length) {
      const r = waiting.pop();
      if (gone.has(r) || (there.has(r) && this.stays[r])) continue;
      gone.add(r);
      waiting.push(...this.further[r]);
    }
    return gone;
  }
}
