// The stops of a plan where features are not available: stand-ins follow those that need some. See `rest_of_plan` in
// costframe/core/stages/rest_of_plan.py.

const SURE = 0.02, HARDLY = 0.001, HALF = 0.5, NEARLY = 0.9, LEAST_GAIN = 1e-9;
const KEPT_RESTS = 4;
const USE_WORDS = 11; // of a use in memory, and their places: see `Use` in engine/model.h
const USE = { kind: 1, payload: 6, target: 7, targetEnd: 8 };

class RestsOfPlan {
  constructor(engine, plan) {
    Object.assign(this, { engine, plan, kept: new Map() });
    this.sets = plan.stops.map(({ set }) => BigInt(set));
    this.every = this.sets.reduce((all, set) => all | set, 0n);
    this.whole = new RestOfPlan(engine, plan, this.sets.map((features, own) => ({ own, features, loss: 0, standsIn: false })), 0n);
    if (plan.spare) this.absent = plan.spare.sets.map(asSet);
  }

  // The rest without columns, one bit each.
  without(barred) {
    if (!this.plan.spare || !this.sets.some((set) => (set & barred) !== 0n)) return this.whole;
    if (!this.kept.has(barred)) {
      if (this.kept.size === KEPT_RESTS) {
        const [oldest] = this.kept.keys();
        this.kept.get(oldest).free();
        this.kept.delete(oldest);
      }
      this.kept.set(barred, this.make(barred));
    }
    return this.kept.get(barred);
  }

  make(barred) {
    const { losses } = this.plan.spare;
    const standIns = this.standIns(barred), keepsPlan = this.leaves(HALF, barred, standIns);
    if (standIns.size === 0) return new RestOfPlan(this.engine, this.plan, this.whole.parts, barred, { keepsPlan });
    const alone = this.leaves(NEARLY, barred, new Map());
    const parts = this.sets.flatMap((features, own) => {
      const part = { own, features, loss: losses[own], standsIn: false };
      return standIns.has(own) ? [part, standIns.get(own)] : [part];
    });
    return new RestOfPlan(this.engine, this.plan, parts, barred, { hasStandIns: true, keepsPlan, alone });
  }

  // Whether what is left gains at least a share of what all stops do beside the first, in expected loss.
  leaves(share, barred, standIns) {
    const { losses } = this.plan.spare;
    const left = losses.filter((_, k) => (this.sets[k] & barred) === 0n);
    const least = Math.min(...left, ...[...standIns.values()].map(({ loss }) => loss));
    return losses[0] - least >= share * (losses[0] - Math.min(...losses));
  }

  // The stand-in of each stop that has one; of equal ones the last, but the first stop always has its own.
  standIns(barred) {
    const { losses } = this.plan.spare;
    const last = this.sets.length - 1, stops = new Map();
    this.sets.forEach((wanted, k) => {
      const features = (k === last ? this.every : wanted) & ~barred;
      if ((wanted & barred) !== 0n && (features !== 0n || k === 0) && stops.get(features) !== 0) stops.set(features, k);
    });
    const spread = Math.max(...losses) - Math.min(...losses), found = new Map();
    for (const [features, k] of stops) {
      const within = losses.filter((_, j) => (this.sets[j] & (~features | barred)) === 0n);
      const best = within.length ? Math.min(...within) : Infinity, loss = this.expected(features);
      if (k === 0 || loss < best + SURE * spread) {
        found.set(k, { own: k, features, loss: Math.min(loss, best - HARDLY * spread), standsIn: true });
      }
    }
    return found;
  }

  // The expected loss of answers from some features; see `AbsenceLosses`.
  expected(features) {
    const { least, some, every } = this.plan.spare;
    const lacks = this.absent.map((set) => (set & ~features) !== 0n);
    const lacksAll = this.absent.map((set) => set !== 0n && (set & features) === 0n);
    return sumDoubles([least, ...some.filter((_, i) => lacks[i]), ...every.filter((_, i) => lacksAll[i])]);
  }
}

// Stops, {own, features, loss, standsIn} each, and their models: addresses in the engine's memory, or lists of constants.
class RestOfPlan {
  constructor(engine, plan, parts, barred, { hasStandIns = false, keepsPlan = true, alone = false } = {}) {
    Object.assign(this, { engine, plan, parts, barred, hasStandIns, keepsPlan, alone, models: new Map(), taken: [] });
    this.bestFirst = parts.map((_, k) => k);
    if (hasStandIns) this.bestFirst.sort((a, b) => parts[a].loss - parts[b].loss || a - b);
    else this.bestFirst.reverse();
  }

  ownStop(stop) { return this.plan.stops[this.parts[stop].own]; }

  answer(stop) {
    const { own, standsIn, features } = this.parts[stop];
    return standsIn ? this.keep(`answer ${stop}`, () => this.maskSpare(features)) : this.plan.stops[own].answer;
  }

  gains(stop) {
    if (!this.hasStandIns) return this.ownStop(stop).gains;
    return this.keep(`gains ${stop}`, () => this.makeGains(stop));
  }

  // The own model of a plan, where it goes on; it tells the gains of own stops alone.
  planned(stop) {
    const { standsIn, features } = this.parts[stop];
    return standsIn || (this.hasStandIns && (features & this.barred) !== 0n) ? null : this.ownStop(stop).planned;
  }

  keep(name, make) {
    if (!this.models.has(name)) this.models.set(name, make());
    return this.models.get(name);
  }

  // The spare ensemble without the features that are not there, which it reads in a column that has no value.
  maskSpare(features) {
    const { engine, plan: { spare } } = this;
    const [absent] = members(this.barred), copy = this.copyStruct(spare.model, spare.size);
    const used = engine.vector(copy + spare.places.used);
    const columns = used.map((f) => ((features >> f) & 1n ? f : BigInt(absent)));
    this.putVector(copy + spare.places.used, columns, "setWhole");
    return copy - engine.base;
  }

  makeGains(stop) {
    const [here, ...later] = this.parts.slice(stop);
    const isBroken = (here.features & this.barred) !== 0n;
    if (here.standsIn || (isBroken && later[0].own !== here.own)) return later.map(({ loss }) => loss - here.loss);
    if (isBroken) return later.map((_, j) => (j === 0 ? -1 : 0)); // a row that lacks some goes on to the stand-in
    return this.scaleGains(this.plan.stops[here.own].gains, later.map((part) => this.scale(part, here)));
  }

  // The gain of the own stop, the factor and the summand that make it those of a part.
  scale(part, here) {
    const at = part.own - here.own - 1;
    if (!part.standsIn) return [at, 1, 0];
    const { losses } = this.plan.spare;
    const gain = part.loss - here.loss, whole = losses[part.own] - here.loss;
    if (gain < 0 && whole < -LEAST_GAIN * Math.max(...losses.map(Math.abs))) return [at, gain / whole, 0];
    return [at, 0, gain];
  }

  // A model of gains, each a scaled one of another model.
  scaleGains(model, scaled) {
    const { engine, plan: { spare: { places, size } } } = this;
    const copy = this.copyStruct(model, size);
    const at = (name) => copy + places[name];
    const uses = engine.records(at("use"), USE_WORDS), target = engine.vector(at("target")).map(Number);
    const payload = engine.doubles(engine.view.getUint32(at("payload"), true), engine.view.getUint32(at("payload") + 4, true));
    const targets = [], outputs = [];
    uses.forEach((use, number) => {
      const own = target.slice(use[USE.target], use[USE.targetEnd]);
      const end = number + 1 < uses.length ? uses[number + 1][USE.payload] : payload.length;
      const picked = scaled.flatMap(([of, factor], k) => (factor !== 0 && own.includes(of) ? [[k, own.indexOf(of), factor]] : []));
      const begin = use[USE.payload];
      use[USE.payload] = outputs.length, use[USE.target] = targets.length;
      targets.push(...picked.map(([k]) => k));
      use[USE.targetEnd] = targets.length;
      for (let row = begin; row < end; row += own.length) for (const [, j, factor] of picked) outputs.push(payload[row + j] * factor);
    });
    const stage = engine.view.getUint32(at("stage_value"), true);
    const values = [engine.double(stage), ...scaled.map(([of, factor, more]) => engine.double(stage + 8 * (1 + of)) * factor + more)];
    engine.setUint32(at("use"), this.put(uses.flat(), "setWhole"));
    this.putVector(at("target"), targets, "setWhole");
    this.putVector(at("payload"), outputs, "setDouble");
    engine.setUint32(at("stage_value"), this.put(values, "setDouble"));
    engine.setWhole(at("stage_value") + 16, values.length); // columns
    return copy - engine.base;
  }

  copyStruct(model, size) {
    const { engine } = this, copy = this.take(size);
    new Uint8Array(engine.calls.memory.buffer).copyWithin(copy, engine.base + model, engine.base + model + size);
    return copy;
  }

  putVector(at, values, set) {
    this.engine.setUint32(at, this.put(values, set));
    this.engine.setUint32(at + 4, values.length);
  }

  put(values, set) {
    const at = this.take(8 * values.length);
    values.forEach((value, i) => this.engine[set](at + 8 * i, value));
    return at;
  }

  take(size) {
    this.taken.push(this.engine.take(size));
    return this.taken.at(-1);
  }

  free() { for (const address of this.taken) this.engine.calls.free(address); }
}
