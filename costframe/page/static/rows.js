// Rows on their way through a model, stepped by the engine. A row begins with `known`, a map of columns to values, without
// the `barred` columns, after it paid for `resources`, and pays at most `cap`; `needs` are columns, `grounds` what they are
// for, and `end` is its answer when it needs none.

const REASONS = ["complete", "max_cost", "unavailable", "certain"];
const COMPLETE = 0, CUT = 1, UNAVAILABLE = 2; // places of them

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
  setUint32(at, value) { this.view.setUint32(at, value, true); }
  doubles(at, count) { return Array.from({ length: count }, (_, i) => this.double(at + 8 * i)); }

  // Whole numbers of a vector, an address and a size, as BigInt.
  vector(at) {
    const [first, size] = [this.view.getUint32(at, true), this.view.getUint32(at + 4, true)];
    return Array.from({ length: size }, (_, i) => this.view.getBigInt64(first + 8 * i, true));
  }

  // As many doubles from an address of the model on.
  list(at, count) { return count ? this.doubles(this.base + at, count) : []; }

  // Rows of some words each, an address and a count.
  records(at, words) {
    const first = this.view.getUint32(at, true);
    return Array.from({ length: this.whole(at + 8) }, (_, row) =>
      Array.from({ length: words }, (_, i) => this.whole(first + 8 * (words * row + i))));
  }

  // The scores of a row of values by a model of `count` outputs.
  score(model, x, count) {
    const room = 8 * (1 + count);
    if (!(this.room >= room)) [this.scores, this.room] = [this.take(room), room];
    this.setUint32(this.scores, this.base + model);
    this.calls.walk_row(this.scores, this.scores + 8, x);
    return this.doubles(this.scores + 8, count);
  }
}

// Rows of a tree of stages.
class StageRows {
  constructor(engine, tree, outputs, prices) {
    Object.assign(this, { engine, tree, outputs, prices });
    this.state = engine.take(Math.max(tree.plain.size, tree.limited?.size ?? 0));
    this.supplied = engine.take(8 * tree.plain.used.length);
  }

  // Columns `leftOut` are held back for good.
  begin({ known, barred, resources, cap, leftOut = new Set() }) {
    const { engine, tree, state } = this;
    const most = this.mayBind({ known, barred, resources, cap }) ? this.unitsWithin(cap) : null;
    const limits = most !== null || tree.plain.used.some((f) => barred.has(f));
    const walk = (this.walk = limits ? tree.limited : tree.plain);
    this.step = limits ? engine.calls.step_capped_row : engine.calls.step_row;
    const bytes = new Uint8Array(engine.calls.memory.buffer);
    bytes.copyWithin(state, engine.base + walk.begin, engine.base + walk.begin + walk.size);
    const ranks = most === null ? null : this.ranksWithin(cap);
    const placeOfRanks = state + walk.marks + walk.used.length + tree.waits.learners;
    walk.used.forEach((f, u) => {
      if (known.has(f)) engine.setDouble(state + 8 * u, known.get(f));
      bytes[state + walk.marks + u] = known.has(f) ? 1 | 4 : barred.has(f) ? 8 : leftOut.has(f) ? 16 : 0; // known and paid for; unavailable
      if (ranks === null) return;
      bytes[placeOfRanks + u] = ranks[u];
      if (ranks[u] > 0 && !known.has(f)) bytes[state + walk.marks + u] |= 16; // held back
    });
    if (limits) for (const r of resources) bytes[state + walk.end - this.tree.resources + r] = 1;
    if (most !== null) this.limit(most);
    this.goOn(0);
  }

  // The ranks of features under a cap.
  ranksWithin(cap) {
    const { computing, caps, of } = this.tree.ranks;
    const left = Math.max(cap - computing, 0.5 * cap);
    return of[Math.max(0, caps.findLastIndex((least) => least <= left))];
  }

  // Whether a cap may not pay for all that a row can still buy.
  mayBind({ cap, ...row }) { return cap !== Infinity && this.unitsWithin(cap) < this.mostFor(row); }

  // The largest sum within a cap, in units of the bill.
  unitsWithin(cap) {
    const [above, below] = exact(cap);
    return (above * BigInt(this.tree.bill.per_unit)) / below;
  }

  // The most that a row can still spend, in units of the bill: not for what it cannot have, or has.
  mostFor({ known, barred, resources }) {
    const { prices, tree: { bill, plain: { used } } } = this;
    const left = used.filter((f) => !barred.has(f) && !known.has(f));
    const spared = prices.units(used, new Set()) - prices.units(left, resources);
    return BigInt(bill.total) - (spared * BigInt(bill.per_unit)) / prices.perUnit;
  }

  // Write what the row may spend, the last words of its places.
  limit(units) {
    const { engine, state, walk, tree: { bill: { words } } } = this;
    const most = 2n ** BigInt(64 * words) - 1n;
    let rest = units < most ? units : most;
    for (let w = 0; w < words; ++w, rest >>= 64n) {
      engine.view.setBigUint64(state + walk.marks - 8 * (words - w), rest & (2n ** 64n - 1n), true);
    }
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

  // The values that it knows, by column.
  get known() {
    const { engine, walk, state } = this;
    const marks = new Uint8Array(engine.calls.memory.buffer, state + walk.marks, walk.used.length);
    return walk.used.flatMap((f, u) => (marks[u] & 1 ? [[f, engine.double(state + 8 * u)]] : []));
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
    const { scores } = this;
    return { values: this.link(stage, scores), place: this.place(scores, reason), exit: stage, reason: REASONS[reason] };
  }

  get scores() { return this.engine.doubles(this.state + this.walk.scores, this.outputs); }

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

  // The shares of the stage's weight that wait for what it needs, or that a row under limits gave up at each feature.
  grounds(unread) {
    const { needs } = this;
    if (needs.length) {
      const shares = this.shares((node) => node);
      return { asks: needs.map((f) => ({ columns: [f], gain: shares.get(f) ?? 0, unit: "weight" })) };
    }
    const { reason } = this.end;
    if (reason === "max_cost" || reason === "unavailable") {
      const gone = [...this.shares((node) => ~node, true)].sort((a, b) => b[1] - a[1]);
      return { cause: reason, further: gone.map(([f, share]) => ({ columns: [f], gain: share, unit: "weight" })) };
    }
    return { cause: reason, further: unread.length ? [{ columns: unread }] : [] };
  }

  // Shares by column of the weight of the stage's uses that wait, or that were given up; see waiting.py.
  shares(nodeOf, gaveUp = false) {
    const { engine, walk, state, tree: { waits, words } } = this;
    const stage = engine.whole(state + walk.stage), sums = new Array(walk.used.length).fill(0);
    const bytes = new Uint8Array(engine.calls.memory.buffer), others = [];
    const add = (u, use) => (sums[u] += engine.double(engine.base + waits.weight + 8 * use));
    for (let use = waits.first[stage]; use < waits.first[stage + 1]; ++use) {
      const slot = engine.whole(engine.base + waits.slot + 8 * use);
      const place = engine.whole(state + walk.nodes + 8 * slot);
      if (gaveUp ? bytes[state + walk.marks + walk.used.length + slot] === 0 : place < 0) continue;
      if (waits.reads[use]) {
        others.push(use);
        continue;
      }
      const word = engine.view.getBigInt64(engine.base + words + 8 * nodeOf(place), true);
      if (word >> 36n !== 0n) add(Number(word & ((1n << 30n) - 1n)), use);
    }
    const isKnown = (u) => (bytes[state + walk.marks + u] & 1) !== 0;
    for (const use of others) for (const u of waits.reads[use]) if (!isKnown(u)) add(u, use);
    const total = waits.total[stage];
    return new Map(total > 0 ? sums.flatMap((sum, u) => (sum !== 0 ? [[walk.used[u], sum / total]] : [])) : []);
  }
}
