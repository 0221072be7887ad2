// Who answers a page that holds its model: `next(state, given)`, as ask.js describes it. A state is what the row was
// given so far, and a row begins again where a feature is not to be had, with all values that are there.

class LocalModel {
  static async load(data, code, model) {
    return new LocalModel(data, await Engine.load(code, model, data.pointers));
  }

  constructor(data, engine) {
    this.data = data;
    this.prices = new Prices(data.prices);
    const { tree, plan } = data;
    this.rows = tree ? new StageRows(engine, tree, data.outputs) : new PlannedRows(engine, { ...plan, needs: data.prices.needs });
    this.column = new Map(data.features.map(({ name, column }) => [name, column]));
    this.name = new Map(data.features.map(({ name, column }) => [column, name]));
  }

  get about() { return this.data; }

  // Return the row after something given: `known` before its first question, or `values` (null: unknown) and `absent`.
  async next(state, given = {}) {
    if (given.absent && this.data.whole) throw new Error("This page cannot do without a test; the model itself can.");
    const row = { known: { ...state?.known, ...given.known }, trail: [...(state?.trail ?? [])] };
    if (given.values || given.absent) row.trail.push({ values: given.values ?? {}, absent: given.absent ?? [] });
    return { state: row, ...this.replay(row) };
  }

  columns(values) {
    return Object.entries(values).map(([name, value]) => [this.column.get(name), value ?? NaN]);
  }

  replay({ known, trail }) {
    const row = {
      known: new Map(this.columns(known)), barred: new Set(), bought: [], rounds: 0, pending: new Map(), lost: new Set(),
    };
    row.paid = this.prices.resourcesOf([...row.known.keys()]);
    this.begin(row);
    for (const { values, absent } of trail) {
      for (const [column, value] of this.columns(values)) row.pending.set(column, value), row.bought.push(column);
      for (const name of absent) row.lost.add(this.column.get(name));
      if (this.rows.needs.every((f) => row.pending.has(f) || row.lost.has(f))) this.endRound(row);
    }
    return this.describe(row);
  }

  begin(row) {
    const resources = new Set([...row.paid, ...this.prices.resourcesOf(row.bought)]);
    this.rows.begin({ known: row.known, barred: row.barred, resources });
  }

  endRound(row) {
    const values = this.rows.needs.map((f) => row.pending.get(f));
    const came = this.rows.needs.filter((f) => row.pending.has(f));
    row.bought.splice(row.bought.length - came.length, came.length, ...came); // in the order of the columns
    for (const [column, value] of row.pending) row.known.set(column, value);
    row.rounds += 1;
    if (row.lost.size === 0) {
      this.rows.supply(values);
    } else {
      for (const f of row.lost) row.barred.add(f);
      this.begin(row);
    }
    row.pending = new Map();
    row.lost = new Set();
  }

  describe(row) {
    const { rows, prices, data } = this;
    const needs = rows.needs.filter((f) => !row.pending.has(f) && !row.lost.has(f));
    const cost = prices.total(row.bought, row.paid, rows.evaluated);
    const paid = new Set([...row.paid, ...prices.resourcesOf(row.bought)]);
    const told = {
      needs: needs.map((f) => ({ name: this.name.get(f), price: prices.total([f], paid), why: rows.why(f) })),
      bill: cost, answer: null,
    };
    if (needs.length === 0) {
      const { values, place, exit, reason } = rows.end;
      const acquired = row.bought.map((f) => this.name.get(f));
      told.answer = { values, label: this.label(values, place), cost, acquired, rounds: row.rounds, exit, reason };
      return told;
    }
    // What the row would be answered if nothing else were to be had.
    const known = new Map([...row.known, ...row.pending]);
    const barred = new Set(data.features.map(({ column }) => column).filter((f) => !known.has(f)));
    rows.begin({ known, barred, resources: paid });
    told.now = { values: rows.end.values, label: this.label(rows.end.values, rows.end.place) };
    return told;
  }

  label(values, place) {
    return this.data.classes === null ? null : classOf(values, place, this.data);
  }
}
