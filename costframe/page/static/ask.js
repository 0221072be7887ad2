// The page: it shows questions and answers. Whoever knows the model is behind `model`:
//   about: {title, whole, caps, unit, numbers, features: [{name, labels: [[number, text]], free}], classes: [text] or null,
//     kind}, where the values of a feature that is `free` are any texts; `whole` is null, or says why the page does without
//     no test; and `caps` tells whether a row may have a cap
//   changes(told): a promise of a sentence on what would change an answer told, or null where there is nothing to say
//   next(state, given): a promise of {state, needs: [{name, price, why}], bill, why, now, answer}
// where `state` is any value to go on from, null at first; `given` is {known, cap} before the first question, or {values,
// absent} with values of some features needed, null if unknown; `why` says in a sentence why something is needed, or all
// of it, or why the row ends; `now` is {values, label}, the answer if nothing else came, or null; and `answer` is null, or
// {values, label, cost, rounds}. A label is the number of a class.

// A text without letters that turn its direction, are invisible or control something, also blanks at its ends: these
// become escapes.
function printable(text) {
  const escape = (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`;
  return text.replace(/[\p{C}\p{Z}]/gu, (letter, at) => (letter === " " && at > 0 && at < text.length - 1 ? letter : escape(letter)));
}

// Names in a sentence.
function listNames(names, most = 3) {
  if (names.length > most) return `${names.slice(0, most - 1).join(", ")} and ${names.length - most + 1} more`;
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
}

// A count in a sentence, as of `format_count`.
function formatCount(count, noun) { return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`; }

class AskPage {
  constructor(model) {
    this.model = model;
    this.numbers = new TypedNumbers(model.about.numbers);
    this.features = new Map(model.about.features.map((feature) => [feature.name, feature]));
    this.past = []; // of each step: what was told then, and the row of the table of answers that came of it
    this.cap = null;
    this.get("question").addEventListener("submit", (event) => this.give(event));
    this.get("unknown").addEventListener("click", () => this.goOn({ values: { [this.asked]: null } }, "unknown"));
    this.get("absent").addEventListener("click", () => this.goOn({ absent: [this.asked] }, "not available"));
    this.get("back").addEventListener("click", () => this.goBack());
    this.get("again").addEventListener("click", () => this.startAgain());
    this.get("print").addEventListener("click", () => window.print());
    this.get("known").addEventListener("submit", (event) => this.startKnown(event));
    for (const feature of model.about.features) this.get("fields").append(...this.makeField(feature, `known ${feature.name}`, true));
    this.get("before").hidden = false;
    this.get("budget").hidden = !model.about.caps;
    this.get("unit").textContent = printable(model.about.unit);
    this.get("absent").hidden = Boolean(model.about.whole);
    this.get("whole").textContent = model.about.whole ?? "";
  }

  get(id) { return document.getElementById(id); }

  money(amount) { return `${Number(amount.toPrecision(12))} ${printable(this.model.about.unit)}`; }

  get asked() { return this.told.needs[0].name; }

  async start(known, cap = null) {
    const told = await this.ask(null, { known, cap });
    if (told === null) return;
    Object.assign(this, { past: [], cap });
    this.lines = Object.entries(known).map(([name, value]) => [name, this.write(name, value), "known"]);
    this.show(told);
  }

  startAgain() {
    this.get("known").reset();
    this.get("wrong").textContent = "";
    return this.start({});
  }

  // What the model tells; null, with the reason on the page, where it refuses, or while it has not told the last.
  async ask(state, given) {
    if (this.waiting) return null;
    this.waiting = true;
    try {
      return await this.model.next(state, given);
    } catch (error) {
      this.get("now").hidden = false;
      this.get("problem").textContent = printable(error.message);
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
    if (this.waiting || this.past.length === 0) return;
    const { told, lines } = this.past.pop();
    this.lines = lines;
    this.show(told);
  }

  give(event) {
    event.preventDefault();
    const value = this.read(this.get("value"), this.asked, this.get("problem"));
    if (value !== null) this.goOn({ values: { [this.asked]: value } }, this.write(this.asked, value));
  }

  startKnown(event) {
    event.preventDefault();
    const known = Object.create(null), wrong = this.get("wrong"); // a feature may be named __proto__
    wrong.textContent = "";
    for (const { name } of this.model.about.features) {
      const field = document.getElementById(`known ${name}`);
      const value = field.value.trim() === "" ? null : this.read(field, name, wrong);
      if (wrong.textContent) return;
      if (value !== null) known[name] = value;
    }
    const field = this.get("most"), cap = field.value.trim() === "" ? null : this.readField(field, "", wrong, (text) => this.readCap(text));
    if (!wrong.textContent) this.start(known, cap);
  }

  readCap(text) {
    const cap = this.numbers.read(text);
    if (cap < 0) throw new Error("expected an amount from 0 on");
    return cap;
  }

  // The number in a field, or the text where its feature is free; null, and why in `problem`, if there is none.
  read(field, name, problem) {
    const { free, labels } = this.features.get(name);
    return this.readField(field, problem.id === "wrong" ? `${printable(name)}: ` : "", problem, (text) => {
      if (labels.length && text === "") throw new Error("choose one");
      if (free && text === "") throw new Error("expected a text");
      return labels.length ? Number(text) : free ? text : this.numbers.read(text);
    });
  }

  readField(field, title, problem, read) {
    problem.textContent = "";
    try {
      return read(field.value.trim());
    } catch (error) {
      problem.textContent = title + printable(error.message);
      field.focus();
      return null;
    }
  }

  write(name, value) {
    const label = this.features.get(name).labels.find(([number]) => number === value);
    return label ? label[1] : String(value);
  }

  // A label and a field of a feature; a question has its label elsewhere.
  makeField({ name, labels, free }, id, labelled) {
    const field = document.createElement(labels.length ? "select" : "input");
    field.id = id;
    if (labels.length) field.append(new Option(labelled ? "" : "Choose", ""), ...labels.map(([number, text]) => new Option(printable(text), number)));
    else Object.assign(field, { type: "text", inputMode: free ? "text" : "decimal" });
    if (!labelled) return [field];
    const label = document.createElement("label");
    label.htmlFor = id;
    label.append(printable(name), document.createElement("br"), field);
    return [label];
  }

  show(told) {
    this.told = told;
    const { needs, bill, why, answer } = told;
    for (const id of ["now", "figures"]) this.get(id).hidden = false;
    this.get("question").hidden = answer !== null;
    this.get("answer").hidden = answer === null;
    this.get("back").disabled = this.past.length === 0;
    this.get("problem").textContent = "";
    this.get("bill").textContent = this.money(bill);
    this.get("paid").textContent = `Paid so far${this.cap === null ? "" : `, of at most ${this.money(this.cap)}`}`;
    this.showLines();
    this.showNumbers(answer ?? told.now, answer !== null);
    if (answer === null) this.showQuestion(needs);
    else this.showAnswer(answer, why);
  }

  showQuestion([{ name, price, why }, ...others]) {
    this.get("turn").textContent = `Question ${this.past.length + 1}` +
      (others.length ? `; then certainly ${listNames(others.map((other) => printable(other.name)))}` : "");
    this.get("asked").textContent = printable(name);
    this.get("price").textContent = `It costs ${this.money(price)}.`;
    this.get("why").textContent = printable(why);
    this.get("entry").replaceChildren(...this.makeField(this.features.get(name), "value", false));
    this.get("value").focus();
  }

  showAnswer({ values, label, cost, rounds }, why) {
    const { classes } = this.model.about;
    this.get("result").textContent = `Answer: ${label === null ? values.join(", ") : printable(classes[label])}`;
    this.get("reason").textContent = `It cost ${this.money(cost)} in ${formatCount(rounds, "round")}; ${printable(why)}.`;
    this.get("result").focus();
    this.showChanges(this.told);
  }

  async showChanges(told) {
    this.get("changes").textContent = "";
    const text = await this.model.changes(told).catch(() => null); // the answer stands without it
    if (text !== null && this.told === told) this.get("changes").textContent = `${printable(text[0].toUpperCase() + text.slice(1))}.`;
  }

  // The probability of the second of two classes, or of the likeliest of more; or the estimate.
  showNumbers(numbers, isFinal) {
    this.get("running").hidden = numbers === null;
    this.get("share").hidden = true;
    if (numbers === null) return;
    const { classes, kind } = this.model.about, { values, label } = numbers;
    const when = isFinal ? "" : ", as far as is known";
    const place = classes === null ? null : values.length === 1 ? 1 : label;
    this.get("moving").textContent = (place === null ? (kind === "ranker" ? "Score, to order cases by" : "Estimate") : `Probability of ${printable(classes[place])}`) + when;
    const chance = values[place === null || values.length === 1 ? 0 : place];
    this.get("chance").textContent = place === null ? values.map((v) => Number(v.toPrecision(6))).join(", ") : `${(100 * chance).toFixed(1)} %`;
    if (place === null || !Number.isFinite(chance)) return;
    this.get("share").hidden = false;
    this.get("share").value = chance;
    this.get("share").setAttribute("aria-label", this.get("moving").textContent);
  }

  showLines() {
    const rows = this.lines.map((cells) => {
      const row = document.createElement("tr");
      cells.forEach((text, i) => {
        const cell = document.createElement(i === 0 ? "th" : "td");
        if (i === 0) cell.scope = "row";
        cell.textContent = printable(text);
        row.append(cell);
      });
      return row;
    });
    this.get("given").hidden = rows.length === 0;
    this.get("given").tBodies[0].replaceChildren(...rows);
  }
}
