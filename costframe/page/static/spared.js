// Rows of a tree of stages, which go on through spare trees where their own way needs what is not available, or what they
// do without for their cap. See stand_ins.py, spared_step.py and left_out.py in costframe/core/stages.

const EXACT_BITS = 53; // of whole numbers whose sums doubles hold, in any order

class SparedRows {
  constructor(engine, tree, outputs, prices) {
    this.own = new StageRows(engine, tree, outputs, prices);
    this.spare = tree.spare ? new StageRows(engine, tree.spare, outputs, prices) : null;
    this.prices = prices;
  }

  begin(row) {
    const { own, spare } = this;
    const gone = own.tree.plain.used.filter((f) => row.barred.has(f));
    this.standsIn = spare !== null && gone.length > 0;
    const leftOut = this.standsIn && own.mayBind(row) ? this.leftOut(row) : null;
    own.begin(leftOut ? { ...row, cap: Infinity, leftOut: new Set(leftOut) } : row);
    Object.assign(this, { before: row.known, then: null, gone: [...gone, ...(leftOut ?? [])] });
    this.goOn();
  }

  // The columns that a row does without; its cap pays for all others together.
  leftOut({ known, barred, resources, cap }) {
    const { own, spare, prices } = this;
    const read = spare.tree.plain.used, place = new Map(read.map((f, u) => [f, u]));
    const left = own.tree.plain.used.filter((f) => !barred.has(f) && !known.has(f));
    const bits = prices.units(left, resources).toString(2).length;
    const scale = BigInt(Math.max(0, bits - EXACT_BITS));
    const scaled = (amount) => Number(-(-amount >> scale));
    const base = read.flatMap((f, u) => (known.has(f) ? [u] : [])), units = new Map();
    for (const f of left.filter((one) => place.has(one))) {
      const needs = prices.needs[f].filter((r) => !resources.has(r) && prices.resource[r] > 0n).sort((a, b) => a - b);
      const isFree = prices.cost[f] === 0n;
      if (isFree && needs.length === 0) {
        base.push(place.get(f));
        continue;
      }
      const key = isFree ? needs.join() : `only ${f}`; // features without prices of their own come together
      if (!units.has(key)) units.set(key, { columns: [], features: [], cost: scaled(prices.cost[f]), needs });
      units.get(key).columns.push(f);
      units.get(key).features.push(place.get(f));
    }
    const offered = [...units.values()];
    const choice = new Choice(spare.tree.losses, offered, prices.resource.map(scaled), base);
    const [above, below] = exact(cap);
    const within = Number((above * prices.perUnit) / below >> scale);
    const bought = new Set(choice.expected(within).flatMap((i) => offered[i].columns));
    const there = new Set([...resources, ...prices.resourcesOf([...bought])]);
    return left.filter((f) => !bought.has(f) && prices.units([f], there) > 0n);
  }

  supply(values) {
    (this.then ?? this.own).supply(values);
    if (this.then === null) this.goOn();
  }

  // Go to the spare trees, if the row's own way ended for want of a feature; they miss what it does without.
  goOn() {
    const { own, spare } = this;
    if (!this.standsIn || own.needs.length || own.end.reason === REASONS[COMPLETE]) return;
    const known = new Map([...this.before, ...own.known, ...this.gone.map((f) => [f, NaN])]);
    spare.begin({ known, barred: new Set(), resources: new Set(), cap: Infinity });
    this.then = spare;
  }

  // Who asks; at the end, the own way.
  get asking() { return this.then?.needs.length ? this.then : this.own; }

  get needs() { return this.asking.needs; }

  readTogether() { return new Set(); }

  get evaluated() { return this.own.evaluated; } // nothing, where spare trees stand in

  grounds(unread) { return this.asking.grounds(unread); }

  get end() {
    const { own, then } = this;
    if (then === null) return own.end;
    const { stages: [answer], divisor } = then.tree;
    const found = own.tree.stages[0].link === "identity" ? predict(answer, then.scores) : then.scores;
    const scores = found.map((score) => score * divisor);
    return { ...own.end, values: own.link(0, scores), place: own.place(scores, UNAVAILABLE), exit: 0 };
  }
}
