// Who answers a page that holds its model: `next(state, given)`, as ask.js describes it. A state is what the row was
// given so far, and a row begins again where a feature is not to be had, with all values that are there.

class LocalModel {
  static async load(data, code, model) {
    return new LocalModel(data, await Engine.load(code, model, data.pointers));
  }

  constructor(data, engine) {
    Object.assign(this, { data, engine });
    this.prices = new Prices(data.prices);
    const { tree, plan } = data;
    this.rows = tree ? new SparedRows(engine, tree, data.outputs, this.prices) : new PlannedRows(engine, plan, this.prices);
    this.column = new Map(data.features.map(({ name, column }) => [name, column]));
    this.name = new Map(data.features.map(({ name, column }) => [column, name]));
  }

  get about() { return { ...this.data, caps: true }; }

  // Return the row after something given: `known` and a `cap` before its first question, or `values` (null: unknown) and
  // `absent`.
  async next(state, given = {}) {
    if (given.absent && this.data.whole) throw new Error(this.data.whole);
    const row = {
      known: given.known ?? state?.known ?? {}, cap: given.cap ?? state?.cap ?? null, trail: [...(state?.trail ?? [])],
    };
    if (given.values || given.absent) row.trail.push({ values: given.values ?? {}, absent: given.absent ?? [] });
    return { state: row, ...this.describe(this.follow(row)) };
  }

  // What values of single further features would change; see changes.js.
  async changes({ state, answer }) {
    const { data: { cuts, features, classes }, engine } = this;
    if (cuts === null) return null;
    const { known } = this.follow(state), together = this.rows.readTogether(known);
    const now = this.answerFrom(known).label;
    if (now !== answer.label) return null; // more than missing features decided the answer
    const found = new Changes(classes[now]);
    for (const { name, column, labels } of features.filter(({ column }) => !known.has(column))) {
      const own = labels.length ? labelParts(name, labels) : cuts[column] && intervalParts(name, engine.list(...cuts[column]));
      if (together.has(column) || !own) {
        found.untold.push(name);
        continue;
      }
      const places = [];
      for (const { value } of own) {
        places.push(this.answerFrom(new Map([...known, [column, value]])).label);
        await found.pause();
      }
      found.note(own, places, now, classes);
    }
    return found.text;
  }

  columns(values) {
    return Object.entries(values).map(([name, value]) => [this.column.get(name), value ?? NaN]);
  }

  // A row after all that it was given.
  follow({ known, cap, trail }) {
    const row = {
      cap: cap ?? Infinity, known: new Map(this.columns(known)), barred: new Set(), bought: [], rounds: [], pending: new Map(),
    };
    row.given = [...row.known.keys()];
    row.paid = this.prices.resourcesOf(row.given);
    this.begin(row);
    for (const { values, absent } of trail) {
      for (const [column, value] of this.columns(values)) row.pending.set(column, value);
      if (absent.length) this.goWithout(row, absent.map((name) => this.column.get(name)));
      else if (this.rows.needs.every((f) => row.pending.has(f))) this.rows.supply(this.endRound(row));
    }
    return row;
  }

  begin(row) {
    const resources = new Set([...row.paid, ...this.prices.resourcesOf(row.bought)]);
    const cap = leftOf(row.cap, this.prices.total(row.bought, row.paid, this.prices.againIn(row.rounds, row.given)));
    this.rows.begin({ known: row.known, barred: row.barred, resources, cap });
  }

  // Charge what came in this round; return its values.
  endRound(row) {
    const came = this.rows.needs.filter((f) => row.pending.has(f));
    if (came.length) row.rounds.push(came);
    row.bought.push(...came);
    const values = came.map((f) => row.pending.get(f));
    came.forEach((f, i) => row.known.set(f, values[i]));
    row.pending = new Map();
    return values;
  }

  // Begin again with what came, without columns that are not to be had; see `Inquiry.without`.
  goWithout(row, columns) {
    this.endRound(row);
    for (const f of columns) row.barred.add(f);
    this.begin(row);
  }

  describe(row) {
    const { rows, prices } = this;
    const needs = rows.needs.filter((f) => !row.pending.has(f));
    const came = rows.needs.filter((f) => row.pending.has(f)), bought = [...row.bought, ...came];
    const again = prices.againIn([...row.rounds, came], row.given);
    const cost = prices.total(bought, row.paid, again, rows.evaluated);
    const quote = (columns) => prices.quote(columns, row.bought, came, row.given);
    const why = this.why(row, quote);
    const ask = (f, name) => ({ name, price: quote([f]), why: why.sentenceOf(name) });
    const told = {
      needs: needs.map((f) => ask(f, this.name.get(f))), bill: cost, why: why.text, answer: null, now: null,
    };
    if (needs.length === 0) {
      const { values, place, exit, reason } = rows.end;
      const acquired = bought.map((f) => this.name.get(f));
      told.answer = { values, label: this.label(values, place), cost, rounds: row.rounds.length, reason, acquired, exit };
      return told;
    }
    told.now = this.answerFrom(new Map([...row.known, ...row.pending]));
    return told;
  }

  // What a row is answered that knows values, a map by column, if nothing else can be had.
  answerFrom(known) {
    const { rows, prices, data } = this;
    const barred = new Set(data.features.map(({ column }) => column).filter((f) => !known.has(f)));
    rows.begin({ known, barred, resources: prices.resourcesOf([...known.keys()]), cap: Infinity });
    const { values, place } = rows.end;
    return { values, label: this.label(values, place) };
  }

  // Why it asks for what is not told yet, or why it stopped.
  why(row, quote) {
    const unread = this.data.features.map(({ column }) => column).filter((f) => !row.known.has(f));
    const { asks = [], ...more } = this.rows.grounds(unread);
    const among = (ground) => {
      const columns = ground.columns.filter((f) => !row.pending.has(f));
      const other = ground.runnerUp ? among(ground.runnerUp) : null;
      return { ...ground, columns, runnerUp: other?.columns.length ? other : null };
    };
    const left = asks.map(among).filter(({ columns }) => columns.length);
    return new Why({ ...more, asks: left }, (f) => this.name.get(f), quote, this.data.unit);
  }

  label(values, place) {
    return this.data.classes === null ? null : classOf(values, place, this.data);
  }
}
