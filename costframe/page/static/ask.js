// The page: it shows questions and answers. Whoever knows the model is behind `model`:
//   about: {title, whole, unit, features: [{name, labels: [[number, text]], free}], classes: [text] or null, kind}, where the
//     values of a feature that is `free` are any texts, and a model that is `whole` does without nothing
//   next(state, given): a promise of {state, needs: [{name, price, why}], bill, now, answer}
// where `state` is any value to go on from, null at first; `given` is {known} before the first question, or {values,
// absent} with values of some features needed, null if unknown; `now` is {values, label}, the answer if nothing else came;
// and `answer` is null, or {values, label, cost, rounds, reason}. A label is the number of a class.

class AskPage {
  constructor(model) {
    this.model = model;
    this.features = new Map(model.about.features.map((feature) => [feature.name, feature]));
    this.past = []; // of each step: what was told then, and the row of the table of answers that came of it
    this.get("question").addEventListener("submit", (event) => this.give(event));
    this.get("unknown").addEventListener("click", () => this.goOn({ values: { [this.asked]: null } }, "unknown"));
    this.get("absent").addEventListener("click", () => this.goOn({ absent: [this.asked] }, "not available"));
    this.get("back").addEventListener("click", () => this.goBack());
    this.get("again").addEventListener("click", () => this.start({}));
    this.get("print").addEventListener("click", () => window.print());
    this.get("known").addEventListener("submit", (event) => this.startKnown(event));
    for (const feature of model.about.features) this.get("fields").append(...this.makeField(feature, `known ${feature.name}`, true));
    this.get("before").hidden = false;
    this.get("absent").hidden = Boolean(model.about.whole);
  }

  get(id) { return document.getElementById(id); }

  money(amount) { return `${Number(amount.toPrecision(12))} ${this.model.about.unit}`; }

  get asked() { return this.told.needs[0].name; }

  async start(known) {
    const told = await this.ask(null, { known });
    if (told === null) return;
    this.past = [];
    this.lines = Object.entries(known).map(([name, value]) => [name, this.write(name, value), "known"]);
    this.show(told);
  }

  // What the model tells; null, with the reason on the page, where it refuses, or while it has not told the last.
  async ask(state, given) {
    if (this.waiting) return null;
    this.waiting = true;
    try {
      return await this.model.next(state, given);
    } catch (error) {
      this.get("now").hidden = false;
      this.get("problem").textContent = error.message;
      return null;
    } finally {
      this.waiting = false;
    }
  }

  async goOn(given, text) {
    const { name, price } = this.told.needs[0];
    const told = await this.ask(this.told.state, given);
    if (told === null) return;
    this.past.push({ told: this.told, lines: this.lines });
    this.lines = [...this.lines, [name, text, given.absent ? "" : this.money(price)]];
    this.show(told);
  }

  goBack() {
    const { told, lines } = this.past.pop();
    this.lines = lines;
    this.show(told);
  }

  give(event) {
    event.preventDefault();
    const value = this.read(this.get("value"), this.asked);
    this.get("problem").textContent = value !== undefined ? "" : this.features.get(this.asked).free ? "Expected a text." : "Expected a number.";
    if (value === undefined) this.get("value").focus();
    else this.goOn({ values: { [this.asked]: value } }, this.write(this.asked, value));
  }

  startKnown(event) {
    event.preventDefault();
    const known = Object.create(null); // a feature may be named __proto__
    for (const feature of this.model.about.features) {
      const field = document.getElementById(`known ${feature.name}`);
      const value = field.value.trim() === "" ? null : this.read(field, feature.name);
      if (value === undefined) return field.focus();
      if (value !== null) known[feature.name] = value;
    }
    this.start(known);
  }

  // The number in a field, or the text where its feature is free; undefined if there is none.
  read(field, name) {
    if (this.features.get(name).free) return field.value.trim() || undefined;
    const text = field.value.trim().replace(",", ".").replace("−", "-");
    return text === "" || !Number.isFinite(Number(text)) ? undefined : Number(text);
  }

  write(name, value) {
    const label = this.features.get(name).labels.find(([number]) => number === value);
    return label ? label[1] : String(value);
  }

  // A label and a field of a feature; a question has its label elsewhere.
  makeField({ name, labels, free }, id, labelled) {
    const field = document.createElement(labels.length ? "select" : "input");
    field.id = id;
    if (labels.length) field.append(new Option(labelled ? "" : "Choose", ""), ...labels.map(([number, text]) => new Option(text, number)));
    else Object.assign(field, { type: "text", inputMode: free ? "text" : "decimal" });
    if (!labelled) return [field];
    const label = document.createElement("label");
    label.htmlFor = id;
    label.append(name, document.createElement("br"), field);
    return [label];
  }

  show(told) {
    this.told = told;
    const { needs, bill, answer } = told;
    for (const id of ["now", "figures"]) this.get(id).hidden = false;
    this.get("question").hidden = answer !== null;
    this.get("answer").hidden = answer === null;
    this.get("back").disabled = this.past.length === 0;
    this.get("bill").textContent = this.money(bill);
    this.showLines();
    this.showNumbers(answer ?? told.now, answer !== null);
    if (answer === null) this.showQuestion(needs);
    else this.showAnswer(answer);
  }

  showQuestion([{ name, price, why }, ...others]) {
    this.get("turn").textContent = `Question ${this.past.length + 1}` +
      (others.length ? `; then certainly ${others.map((other) => other.name).join(", ")}` : "");
    this.get("asked").textContent = name;
    this.get("price").textContent = `It costs ${this.money(price)}.`;
    this.get("why").textContent = why;
    this.get("problem").textContent = "";
    this.get("entry").replaceChildren(...this.makeField(this.features.get(name), "value", false));
    this.get("value").focus();
  }

  showAnswer({ values, label, cost, rounds, reason }) {
    const { classes } = this.model.about;
    this.get("result").textContent = `Answer: ${label === null ? values.join(", ") : classes[label]}`;
    const why = {
      complete: "the model has read all that it wants", certain: "nothing else could change it",
      unavailable: "tests that the model wanted were not available", max_cost: "the cap on the price is reached",
    }[reason] ?? reason;
    this.get("reason").textContent = `It cost ${this.money(cost)} in ${rounds} ${rounds === 1 ? "round" : "rounds"} and ends here since ${why}.`;
    this.get("result").focus();
  }

  // The probability of the second of two classes, or of the likeliest of more; or the estimate.
  showNumbers({ values, label }, isFinal) {
    const { classes } = this.model.about;
    const when = isFinal ? "" : ", as far as is known";
    const place = classes === null ? null : values.length === 1 ? 1 : label;
    this.get("moving").textContent = (place === null ? "Estimate" : `Probability of ${classes[place]}`) + when;
    const chance = values[place === null || values.length === 1 ? 0 : place];
    this.get("chance").textContent = place === null ? values.map((v) => Number(v.toPrecision(6))).join(", ") : `${(100 * chance).toFixed(1)} %`;
    this.get("share").hidden = place === null;
    if (place !== null) this.get("share").value = chance;
    this.get("share").setAttribute("aria-label", this.get("moving").textContent);
  }

  showLines() {
    const rows = this.lines.map((cells) => {
      const row = document.createElement("tr");
      cells.forEach((text, i) => {
        const cell = document.createElement(i === 0 ? "th" : "td");
        if (i === 0) cell.scope = "row";
        cell.textContent = text;
        row.append(cell);
      });
      return row;
    });
    this.get("given").hidden = rows.length === 0;
    this.get("given").tBodies[0].replaceChildren(...rows);
  }
}
