// Rows on their way through a model, stepped by the engine. A row begins with `known`, a map of columns to values, without
// the `barred` columns; `needs` are columns, and `end` is its answer when it needs none.

const REASONS = ["complete", "max_cost", "unavailable", "certain"];

// The engine with a model in its memory.
class Engine {
  static async load(code, model, pointers) {
    const module = await WebAssembly.compile(code);
    const stubs = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      (stubs[from] ??= {})[name] = () => { throw new Error(`the engine called ${name}`); };
    }
    const { exports } = await WebAssembly.instantiate(module, stubs);
    exports._initialize();
    return new Engine(exports, model, pointers);
  }

  constructor(exports, model, pointers) {
    this.calls = exports;
    this.base = exports.malloc(model.length);
    new Uint8Array(exports.memory.buffer, this.base, model.length).set(model);
    for (const place of pointers) {
      this.view.setUint32(this.base + place, this.view.getUint32(this.base + place, true) + this.base, true);
    }
  }

  get view() { return new DataView(this.calls.memory.buffer); } // memory may grow

  take(size) { return this.calls.malloc(Math.max(size, 8)); }
  double(at) { return this.view.getFloat64(at, true); }
  whole(at) { return Number(this.view.getBigInt64(at, true)); }
  setDouble(at, value) { this.view.setFloat64(at, value, true); }
  setWhole(at, value) { this.view.setBigInt64(at, BigInt(value), true); }
  doubles(at, count) { return Array.from({ length: count }, (_, i) => this.double(at + 8 * i)); }
}

// Rows of a tree of stages.
class StageRows {
  constructor(engine, tree, outputs) {
    Object.assign(this, { engine, tree, outputs });
    this.state = engine.take(Math.max(tree.plain.size, tree.limited.size));
    this.supplied = engine.take(8 * tree.plain.used.length);
  }

  begin({ known, barred, resources }) {
    const { engine, tree, state } = this;
    const limits = tree.plain.used.some((f) => barred.has(f));
    const walk = (this.walk = limits ? tree.limited : tree.plain);
    this.step = limits ? engine.calls.step_capped_row : engine.calls.step_row;
    const bytes = new Uint8Array(engine.calls.memory.buffer);
    bytes.copyWithin(state, engine.base + walk.begin, engine.base + walk.begin + walk.size);
    walk.used.forEach((f, u) => {
      if (known.has(f)) engine.setDouble(state + 8 * u, known.get(f));
      bytes[state + walk.marks + u] = known.has(f) ? 1 | 4 : barred.has(f) ? 8 : 0; // known and paid for; unavailable
    });
    if (limits) for (const r of resources) bytes[state + walk.end - this.tree.resources + r] = 1;
    this.goOn(0);
  }

  supply(values) {
    values.forEach((value, i) => this.engine.setDouble(this.supplied + 8 * i, value));
    this.goOn(this.supplied);
  }

  goOn(supplied) {
    const { engine, walk, state } = this;
    const count = Number(this.step(engine.base + walk.way, state, supplied));
    this.needs = Array.from({ length: count }, (_, i) => walk.used[engine.whole(state + walk.needed + 8 * i)]);
  }

  // What it evaluated so far: its price, as a quotient of whole numbers.
  get evaluated() {
    const { exact: prices, account } = this.walk;
    if (prices === null) return [0n, 1n];
    const [weight, comparisons, uses, used] = this.engine.doubles(this.state + account, 4).map(BigInt);
    const units = BigInt(prices.learner) * weight + BigInt(prices.split) * comparisons;
    return [units + BigInt(prices.reuse) * (uses - used), BigInt(prices.per_unit)];
  }

  get end() {
    const { engine, walk, tree, state } = this;
    const stage = engine.whole(state + walk.stage);
    const reason = engine.whole(state + walk.stage + 16);
    const scores = engine.doubles(state + walk.scores, this.outputs);
    return { values: this.link(stage, scores), place: this.place(scores, reason), exit: stage, reason: REASONS[reason] };
  }

  link(stage, scores) {
    const { stages, alike } = this.tree;
    const answer = alike ? stages.find((one) => one !== null) : stages[stage];
    if (answer !== null) return predict(answer, scores);
    if (stages.some((one) => one !== null && one.link === "ranked")) return scores;
    return applyLink(this.outputs === 1 ? "sigmoid" : "softmax", scores, 0);
  }

  // The number of the class where predictions do not tell it, else null.
  place(every, reason) {
    const { slack, float32, by_scores: count } = this.tree;
    if (count === null) return null;
    const scores = every.slice(0, count);
    const best = indexOfMost(scores);
    if (Number.isNaN(scores[best])) return best;
    const single = scores.length === 1;
    const near = single ? Math.abs(scores[0]) <= slack : scores.filter((s) => s >= scores[best] - slack).length > 1;
    if (float32 !== null && near && reason === 0) return this.placeInFloat32();
    return single ? Number(scores[0] > 0) : best;
  }

  // The same by sums in float32, leaf after leaf, as xgboost adds. See float32_margins.py.
  placeInFloat32() {
    const { engine, walk, state, tree } = this;
    const { expf } = engine.calls;
    const float = Math.fround;
    const margins = tree.margins.base.map(float);
    for (const { slot, root, payload, targets } of tree.margins.uses) {
      const leaf = -1 - engine.whole(state + walk.nodes + 8 * slot) - root;
      targets.forEach((k, j) => {
        const at = engine.base + tree.margins.payload + 8 * (payload + leaf * targets.length + j);
        margins[k] = float(margins[k] + float(engine.double(at)));
      });
    }
    if (tree.float32 === "step") return Number(margins[0] > 0);
    if (tree.float32 === "identity") return indexOfMost(margins);
    if (tree.float32 === "sigmoid") {
      const power = expf(Math.min(float(-margins[0]), float(88.7)));
      return Number(float(1 / float(float(power + 1) + float(1e-16))) > 0.5);
    }
    const powers = margins.map((margin) => expf(float(margin - Math.max(...margins))));
    const total = float(powers.reduce((sum, power) => sum + power));
    return indexOfMost(powers.map((power) => float(power / total)));
  }

  // What a feature is asked for.
  why(column) {
    const { engine, walk, state, tree } = this;
    const u = walk.used.indexOf(column);
    let count = 0;
    for (const slot of tree.trees) {
      const node = engine.whole(state + walk.nodes + 8 * slot);
      if (node < 0) continue;
      const word = engine.view.getBigInt64(engine.base + tree.words + 8 * node, true);
      count += word >> 36n !== 0n && Number(word & ((1n << 30n) - 1n)) === u;
    }
    return count === 0 ? "The model reads it in every case from here on."
      : `It is the next test of ${count} of the model's ${tree.trees.length} trees.`;
  }
}

// Rows of a plan, from stop to stop; sets of features and of items are bits of whole numbers.
class PlannedRows {
  constructor(engine, plan) {
    Object.assign(this, { engine, plan });
    this.sets = plan.sets.map(BigInt);
    this.bundles = plan.bundles.map(BigInt);
    this.words = plan.known_words;
    this.row = engine.take(8 * (plan.place.known + this.words + plan.d + plan.outputs + 1));
    this.x = this.row + 8 * (plan.place.known + this.words);
    this.supplied = engine.take(8 * (plan.d + plan.outputs));
    this.paidSets = engine.view.getUint32(engine.base + plan.way + 4, true);
  }

  begin({ known, barred, resources }) {
    const { engine, plan, row } = this;
    const { d } = plan;
    const bit = (i) => 1n << BigInt(i);
    let have = [...known.keys()].reduce((bits, f) => bits | bit(f), 0n);
    const paidBefore = [...resources].reduce((bits, r) => bits | bit(d + r), have);
    const stop = this.sets.reduce((last, set, k) => (set !== 0n && (set & ~have) === 0n ? k : last), 0);
    const bars = [...barred].reduce((bits, f) => bits | bit(f), 0n);
    Object.assign(this, { paid: paidBefore, canHave: this.sets.map((set) => (set & bars) === 0n) });
    this.planned = plan.planned && bars === 0n && paidBefore === 0n;
    let reason = 0;
    if (stop === 0) {
      for (let f = 0; f < d; ++f) {
        if ((this.sets[0] & bit(f)) === 0n) continue;
        if ((bars & bit(f)) === 0n) this.paid |= bit(f) | this.resourceBits(f);
        else (reason = 2), (have |= bit(f)); // no row asks for it
      }
    }
    for (let i = 0; i < d + plan.outputs; ++i) engine.setDouble(this.x + 8 * i, known.get(i) ?? NaN);
    const { place } = plan;
    for (let w = 0; w < this.words; ++w) {
      engine.view.setBigUint64(row + 8 * (place.known + w), (have >> BigInt(64 * w)) & (2n ** 64n - 1n), true);
    }
    engine.setWhole(row, stop), engine.setWhole(row + 8, 0), engine.setWhole(row + 8 * place.why, reason);
    engine.setWhole(row + 24, 0), engine.setWhole(row + 8 * place.status, plan.waits);
    engine.setWhole(this.x + 8 * (d + plan.outputs), -1); // no opaque learners
    this.have = have;
    this.goOn(0);
  }

  resourceBits(f) { return this.plan.needs[f].reduce((bits, r) => bits | (1n << BigInt(this.plan.d + r)), 0n); }

  supply(values) {
    values.forEach((value, i) => this.engine.setDouble(this.supplied + 8 * i, value));
    this.have |= this.sets[this.stop];
    this.goOn(this.supplied);
  }

  get stop() { return this.engine.whole(this.row); }

  goOn(supplied) {
    const { engine, plan } = this;
    while (true) {
      this.pricePaid();
      const asks = Number(engine.calls.step_plan_row(engine.base + plan.way, this.row, supplied));
      if (asks === plan.add_sets) this.paid |= this.bundles[this.stop];
      const status = engine.whole(this.row + 8 * plan.place.status);
      const missing = status === plan.pays || status === plan.waits ? this.sets[this.stop] & ~this.have : 0n;
      this.needs = Array.from({ length: plan.d }, (_, f) => f).filter((f) => (missing >> BigInt(f)) & 1n);
      if (this.needs.length || !asks) return;
      supplied = 0;
    }
  }

  // Tell the engine what each stop costs a row that has paid for what it has. See `PaidSets` in planned_terms.py.
  pricePaid() {
    const { engine, plan, paidSets } = this;
    const at = [0, 24, 48, 72].map((place) => engine.view.getUint32(paidSets + place, true));
    this.bundles.forEach((bundle, j) => {
      const further = bundle & ~this.paid;
      const price = sumDoubles(plan.weighed.filter((_, i) => (further >> BigInt(i)) & 1n));
      engine.setWhole(at[0] + 8 * j, further === 0n ? 0 : -1);
      engine.setDouble(at[1] + 8 * j, plan.tradeoff * price);
      engine.view.setUint8(at[2] + j, 1);
      engine.view.setUint8(at[3] + j, this.canHave[j]);
    });
    engine.setWhole(paidSets + 80, Number(this.planned));
  }

  get evaluated() { return [0n, 1n]; }

  get end() {
    const { engine, plan, stop } = this;
    const scores = engine.doubles(this.x + 8 * plan.d, plan.outputs);
    const reason = REASONS[engine.whole(this.row + 8 * plan.place.why)];
    return { values: predict(plan.stages[stop], scores), place: null, exit: stop, reason };
  }

  why() { return "The model expects the tests that it buys together to be worth their price here."; }
}
