// Rows of a tree of stages, which go on through spare trees where their own way needs what is not available. See
// stand_ins.py and spared_step.py in costframe/core/stages.

class SparedRows {
  constructor(engine, tree, outputs, prices) {
    this.own = new StageRows(engine, tree, outputs, prices);
    this.spare = tree.spare ? new StageRows(engine, tree.spare, outputs, prices) : null;
  }

  begin(row) {
    const { own } = this;
    own.begin(row);
    Object.assign(this, { before: row.known, then: null });
    this.standsIn = this.spare !== null && own.barred.length > 0 && !own.mayBind;
    this.goOn();
  }

  supply(values) {
    (this.then ?? this.own).supply(values);
    if (this.then === null) this.goOn();
  }

  // Go to the spare trees, if the row's own way ended for want of a feature; they miss what is not available.
  goOn() {
    const { own, spare } = this;
    if (!this.standsIn || own.needs.length || own.end.reason !== REASONS[UNAVAILABLE]) return;
    const known = new Map([...this.before, ...own.known, ...own.barred.map((f) => [f, NaN])]);
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
