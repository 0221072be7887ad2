// Which values of single features that a row does not know would change its class: the rules and sentences of
// costframe/core/predictors/changes.py.

const SHOWN_CHANGES = 3;
const LONGEST = 30; // milliseconds without a pause

// The values of a feature that are told apart, each with its words; of a range also its ends.
function labelParts(name, labels) {
  return [...labels.map(([value, label]) => ({ value, text: () => `${name} is ${label}` })), missingPart(name)];
}

function missingPart(name) { return { value: NaN, text: () => `${name} is missing` }; }

function intervalParts(name, cuts) {
  const last = cuts.length ? nextAfter(cuts.at(-1), true) : 0, ends = [-Infinity, ...cuts, Infinity];
  const parts = [...cuts, last].map((value, i) => makeRange(name, value, ends[i], ends[i + 1]));
  return [...parts.filter(({ value }) => Number.isFinite(value)), missingPart(name)];
}

function makeRange(name, value, above, upTo) {
  const text = () => {
    const low = above > -Infinity ? ` is above ${formatDigits(above, 6)}` : "";
    const high = upTo < Infinity ? `${low ? " and" : " is"} up to ${formatDigits(upTo, 6)}` : "";
    return `${name}${low + high || " is known"}`;
  };
  return { name, value, above, upTo, text };
}

class Changes {
  constructor(label) { Object.assign(this, { label, said: [], unchanged: 0, untold: [], since: performance.now() }); }

  // Let the page go on from time to time.
  async pause() {
    if (performance.now() - this.since < LONGEST) return;
    await new Promise((done) => setTimeout(done));
    this.since = performance.now();
  }

  // Note the classes that parts of a feature's values give, by number; ranges side by side are one.
  note(parts, places, now, classes) {
    const found = new Map();
    parts.forEach((part, i) => {
      if (places[i] === now) return;
      if (!found.has(places[i])) found.set(places[i], []);
      const ranges = found.get(places[i]), before = ranges.at(-1);
      const isNext = places[i] === places[i - 1] && before !== undefined && "upTo" in before && before.upTo === part.above;
      if (isNext) ranges[ranges.length - 1] = makeRange(part.name, part.value, before.above, part.upTo);
      else ranges.push(part);
    });
    for (const [place, ranges] of found) this.said.push(`it would be ${classes[place]} where ${this.anyOf(ranges)}`);
    if (found.size === 0) this.unchanged += 1;
  }

  anyOf(parts) {
    const said = parts.slice(0, SHOWN_CHANGES).map((part) => part.text()), more = parts.length - SHOWN_CHANGES;
    return [...said, ...(more > 0 ? [`in ${formatCount(more, "more case")}`] : [])].join(" or ");
  }

  // The sentence; null where nothing can be told.
  get text() {
    const { label, said, unchanged, untold } = this, more = said.length - SHOWN_CHANGES;
    if (said.length + unchanged === 0) return null;
    const parts = said.length ? said.slice(0, SHOWN_CHANGES) : ["no value of one further feature would change it"];
    if (more > 0) parts.push(`${formatCount(more, "more value")} would change it`);
    if (untold.length) parts.push(`what ${listNames(untold)} would change cannot be told`);
    return [`the class is ${label}`, ...parts].join("; ");
  }
}
