// Rows of a plan, from stop to stop; sets of features and of items are bits of whole numbers. See planned_walk.py,
// planned_terms.py and planned_reasons.py in costframe/core/predictors.

const bit = (i) => 1n << BigInt(i);
const asSet = (columns) => [...columns].reduce((bits, f) => bits | bit(f), 0n);

function members(bits) {
  return [...bits.toString(2)].reverse().flatMap((digit, i) => (digit === "1" ? [i] : []));
}

const HAVE = 1, PAY = 2; // of a later stop: the row can have it, and can pay it too

class PlannedRows {
  constructor(engine, plan, prices) {
    Object.assign(this, { engine, plan, prices, d: plan.d });
    this.width = plan.d + plan.outputs;
    this.x = engine.take(8 * this.width);
    this.rests = new RestsOfPlan(engine, plan);
  }

  // Features and the resources that they need.
  items(features) { return features | asSet(members(features).flatMap((f) => this.prices.needs[f].map((r) => this.d + r))); }

  // The price of items that were not paid for before, and of going again, in units.
  owed(items, again) {
    const { prices, d } = this;
    const units = members(items & ~this.before).reduce((sum, i) => sum + (i < d ? prices.cost[i] : prices.resource[i - d]), again);
    return money(units, prices.perUnit);
  }

  // The units for going again to resources in a round that buys items beside those `paid`.
  againFor(items, paid) {
    const features = members(items & ~paid & (bit(this.d) - 1n));
    return this.prices.again(features, new Set(members(paid >> BigInt(this.d))));
  }

  begin({ known, barred, resources, cap }) {
    const { engine, plan, d } = this;
    const bars = asSet(barred);
    Object.assign(this, { have: asSet(known.keys()), cap, again: 0n, why: 0, stop: 0, choice: null });
    this.before = this.have | asSet([...resources].map((r) => d + r));
    this.paid = this.before;
    const leftOut = this.leftOut(bars);
    const relied = cap === Infinity && this.before === 0n ? BigInt(plan.relied) : this.rests.every;
    const gone = bars | leftOut;
    this.rest = this.rests.without((gone & relied) === 0n ? 0n : gone);
    const { parts } = this.rest;
    this.canHave = parts.map(({ features }) => (features & bars) === 0n);
    const lacks = (bars & relied) !== 0n;
    const goesOn = plan.byValues ? !lacks || (plan.spare && this.rest.keepsPlan) : !lacks && this.before === 0n;
    this.planned = plan.planned && goesOn && leftOut === 0n;
    this.tradeoff = this.planned || !plan.planned ? plan.tradeoff : plan.tradeoffLeft; // of a plan, for its gains alone
    this.stop = this.rest.bestFirst.find((k) => parts[k].features !== 0n && (parts[k].features & ~this.have) === 0n) ?? 0;
    for (let i = 0; i < this.width; ++i) engine.setDouble(this.x + 8 * i, known.get(i) ?? NaN);
    if (this.stop === 0) this.beginFirst(bars, leftOut);
    this.goOn();
  }

  // What the row does without, if its cap pays for none of the sets; see `PartOfPlan`.
  leftOut(bars) {
    const { plan: { spare, narrow }, cap, rests } = this;
    if (cap === Infinity || !(spare || narrow)) return 0n;
    const isWithin = (features) => this.owedWith(this.items(features)) <= cap;
    const offered = rests.sets.map((set) => set & ~bars).filter((set) => set !== 0n);
    if (!offered.length || offered.some(isWithin)) return 0n;
    if (!spare) throw new Error(narrow);
    const { caps, orders } = spare.part;
    let bought = bars;
    for (const f of orders[Math.max(0, caps.findLastIndex((from) => from <= cap))]) {
      if (isWithin((bought & ~bars) | bit(f))) bought |= bit(f);
    }
    return rests.every & ~bought;
  }

  // Pay for the features of the first stop; no row asks for those that it cannot have or pay.
  beginFirst(bars, leftOut) {
    let first = 0n;
    for (const f of members(this.rest.parts[0].features)) {
      if ((bars & bit(f)) !== 0n) this.why |= UNAVAILABLE;
      else if ((leftOut & bit(f)) !== 0n) this.why |= CUT;
      else if (this.cap < Infinity && this.owedWith(this.items(first | bit(f))) > this.cap) this.why |= CUT;
      else first |= bit(f);
      if ((first & bit(f)) === 0n) {
        this.have |= bit(f);
        this.engine.setDouble(this.x + 8 * f, NaN);
      }
    }
    this.pay(this.items(first));
  }

  // What a row owes with further items.
  owedWith(items) { return this.owed(this.paid | items, this.again + this.againFor(items, this.paid)); }

  pay(items) {
    this.again += this.againFor(items, this.paid);
    this.paid |= items;
  }

  supply(values) {
    this.needs.forEach((f, i) => this.engine.setDouble(this.x + 8 * f, values[i]));
    this.have |= asSet(this.needs);
    this.goOn();
  }

  goOn() {
    while (true) {
      this.needs = members(this.rest.parts[this.stop].features & ~this.have);
      if (this.needs.length) return;
      this.score();
      this.choice = this.choose();
      this.why = this.choice.why;
      if (this.choice.to === this.stop) return;
      this.stop = this.choice.to;
      this.pay(this.items(this.rest.parts[this.stop].features));
    }
  }

  // Score the row at its stop; gains read the scores too.
  score() {
    const { engine, plan, rest, stop, x, d } = this;
    const scores = engine.score(rest.answer(stop), x, plan.outputs);
    scores.forEach((score, k) => engine.setDouble(x + 8 * (d + k), score));
  }

  // The choice of a row at its stop, as the engine makes it: by the plan as long as the row can pay for that, and for what
  // it would choose by its gains after that; else by its gains.
  choose() {
    const follows = this.planned && this.rest.planned(this.stop) !== null && (this.why & CUT) === 0;
    const choice = this.chooseBy(follows, this.why);
    if (!follows || ((choice.why & CUT) === 0 && (choice.to === this.stop || this.cap === Infinity))) return choice;
    const left = this.chooseBy(false, choice.why | CUT);
    return (choice.why & CUT) === 0 && (left.to === this.stop || this.keeps(choice.to, left.to)) ? choice : left;
  }

  // Whether the row can pay for a stop after another one.
  keeps(to, then) {
    const [items, further] = [to, then].map((stop) => this.items(this.rest.parts[stop].features));
    const paid = this.paid | items, again = this.again + this.againFor(items, this.paid);
    return this.owed(paid | further, again + this.againFor(further, paid)) <= this.cap;
  }

  // See `choose` of engine/plan.h.
  chooseBy(follows, before) {
    const { engine, plan, rest, stop, x } = this;
    const fixed = rest.ownStop(stop)[rest.hasStandIns ? "fixedBeside" : "fixed"];
    const count = rest.parts.length - 1 - stop;
    const gainsOf = (model) => (Array.isArray(model) ? model : engine.score(model, x, count));
    if (!follows && !count) return { stop, to: stop, why: before, gains: [], total: [], reach: [], follows, fixed: false, tradeoff: this.tradeoff };
    let changes = follows ? this.plannedGains(stop) : gainsOf(rest.gains(stop));
    const offers = rest.parts.slice(stop + 1).map(({ features }) => this.items(features));
    const tradeoff = this.planned && !follows ? plan.tradeoffLeft : this.tradeoff;
    const total = offers.map((items, j) => changes[j] + tradeoff * this.added(items));
    const reach = offers.map((items, j) => (!this.canHave[stop + 1 + j] ? 0
      : this.cap < Infinity && this.owedWith(items) > this.cap ? HAVE : PAY));
    const [every, having, to] = [0, HAVE, PAY].map((least) => this.least(total, reach, least));
    const why = before | (to !== having ? CUT : 0) | (having !== every ? UNAVAILABLE : 0);
    if (follows && fixed) changes = gainsOf(rest.gains(stop)); // what the set is expected to gain all the same
    return { stop, to, why, gains: changes.map((change) => -change), total, reach, follows, fixed: follows && fixed, tradeoff };
  }

  // What a plan expects of later stops; of stand-ins it is what they gain without it, or nothing.
  plannedGains(stop) {
    const { engine, plan, rest, x } = this, { own } = rest.parts[stop], later = rest.parts.slice(stop + 1);
    const planned = engine.score(rest.planned(stop), x, plan.stops.length - 1 - own);
    if (!rest.hasStandIns) return planned;
    const gains = rest.alone ? later.map(() => 0) : engine.score(rest.gains(stop), x, later.length);
    return later.map((part, j) => (part.standsIn ? gains[j] : planned[part.own - own - 1]));
  }

  // The price of what items add, as it is compared with gains.
  added(items) {
    const { plan: { weighed }, prices, paid } = this;
    const sum = sumDoubles(members(items & ~paid).map((i) => weighed[i]));
    return prices.rounds === null ? sum : sum + money(this.againFor(items, paid), prices.perUnit);
  }

  least(total, reach, allowed) {
    let [least, to] = [0, this.stop];
    total.forEach((each, j) => { if (reach[j] >= allowed && each < least) [least, to] = [each, this.stop + 1 + j]; });
    return to;
  }

  // The columns that are new in no stop alone, beside known ones: see `read_together` in planned.py.
  readTogether(known) {
    const { sets } = this.rests, had = asSet(known.keys());
    const lacks = sets.map((set) => set & ~had), all = (some) => some.reduce((bits, set) => bits | set, 0n);
    const alone = all(lacks.filter((set) => (set & (set - 1n)) === 0n));
    return new Set(members(all(lacks) & ~alone & ~sets[0]));
  }

  get evaluated() { return [0n, 1n]; }

  get end() {
    const { engine, plan, rest, stop, x, d } = this;
    const { own, standsIn } = rest.parts[stop];
    const scores = engine.doubles(x + 8 * d, plan.outputs);
    const values = predict(standsIn ? plan.spare.stage : plan.stops[own].stage, scores);
    const why = this.why | (!standsIn ? 0 : this.canHave.every(Boolean) ? CUT : UNAVAILABLE);
    return { values, place: null, exit: own, reason: REASONS[why & UNAVAILABLE || why] };
  }

  // Why it asks for what it needs, or why it stays.
  grounds() {
    const { choice, needs, have, rest, plan: { unit, realised } } = this;
    const { tradeoff } = choice ?? this;
    const isSet = choice === null || (choice.fixed && choice.gains[choice.to - choice.stop - 1] <= 0);
    if (choice === null || (needs.length && isSet)) return { asks: [{ columns: needs, purpose: "every row reads it" }], tradeoff };
    const further = (stop) => rest.parts[stop].features & ~have;
    const share = choice && realised[choice.follows ? 1 : 0]; // of these gains, held-out rows realised so much
    const stated = (stop) => choice.gains[stop - choice.stop - 1] * share + 0; // not -0
    const ground = (stop) => ({ columns: members(further(stop)), gain: stated(stop), unit });
    const best = new Map();
    for (const stop of this.rank(choice)) if (!best.has(further(stop))) best.set(further(stop), stop);
    best.delete(0n);
    if (needs.length) {
      best.delete(asSet(needs));
      const second = choice.fixed ? undefined : [...best.values()].find((stop) => choice.reach[stop - choice.stop - 1] === PAY);
      return { asks: [{ ...ground(choice.to), runnerUp: second === undefined ? null : ground(second) }], tradeoff };
    }
    const { reason } = this.end;
    const cause = reason === "complete" && best.size && !choice.fixed ? "nothing pays" : reason;
    return { cause, further: [...best.values()].map(ground), tradeoff };
  }

  // Later stops, the best first; those that the row can have and pay before the others.
  rank({ stop, total, reach }) {
    const key = total.map((each) => (Number.isNaN(each) ? Infinity : each));
    return key.map((_, j) => j)
      .sort((a, b) => reach[b] - reach[a] || (key[a] < key[b] ? -1 : key[a] > key[b] ? 1 : a - b))
      .map((j) => stop + 1 + j);
  }
}
