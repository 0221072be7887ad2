// Who answers a page that a service serves: `next(state, given)`, as ask.js describes it, by a request for each step.

class RemoteModel {
  constructor({ name, kind, unit, classes, features, takes, numbers }) {
    const listed = features.map((feature) => ({
      name: feature.name,
      labels: this.list(feature),
      free: !["number", "category"].includes(feature.kind),
    }));
    this.about = {
      title: name, kind, unit, classes: classes?.map(String) ?? null, features: listed, numbers,
      whole: takes.includes("unavailable") ? null : "This model cannot do without a test.", caps: takes.includes("max_cost"),
    };
    this.labels = new Map(listed.map((feature) => [feature.name, feature.labels]));
  }

  // Numbers of labels, their texts, and what the service takes, if that is another text: for all that are not listed.
  list({ labels = [], other = false }) {
    return [...labels.map((text, number) => [number, text]), ...(other ? [[labels.length, "any other", "\0other"]] : [])];
  }

  async next(state, { known, cap, values, absent } = {}) {
    const told = {
      state, values: this.write(known ?? values ?? {}), unavailable: absent ?? [], max_cost: cap ?? null,
      include: ["why", "so_far"],
    };
    return { ...this.read(await this.post(told)), asked: told };
  }

  // Asks anew for what led to the answer: an ended row has no state.
  async changes({ asked, answer }) {
    if (answer.label === null) return null;
    const { changes: { reason, changes, unchanged, text } } = await this.post({ ...asked, include: ["changes"] });
    return reason === null && changes.length + unchanged.length > 0 ? text : null;
  }

  // The reply to a step.
  async post(told) {
    const [response, reply] = await this.fetch(JSON.stringify(told));
    if (!response.ok) throw new Error(reply.error ?? `the service answers ${response.status}; try again`);
    return reply;
  }

  async fetch(body) {
    try {
      const response = await fetch("next", { method: "POST", headers: { "content-type": "application/json" }, body });
      return [response, await response.json()];
    } catch {
      throw new Error("the service does not answer; nothing is lost, try again");
    }
  }

  // Numbers of labels as the labels that the service takes.
  write(values) {
    const name = (feature, value) => {
      const labels = this.labels.get(feature);
      return value === null || !labels.length ? value : labels[value].at(-1);
    };
    return Object.fromEntries(Object.entries(values).map(([feature, value]) => [feature, name(feature, value)]));
  }

  read({ state, asks, cost, why, so_far: now, answer }) {
    const end = answer === null ? null : { ...this.numbers(answer), cost, rounds: answer.rounds };
    const reason = (name) => why.asks.find(({ names }) => names.includes(name)).text;
    const needs = asks.map(({ name, price }) => ({ name, price, why: reason(name) }));
    return { state, needs, bill: cost, why: why.text, now: now ? this.numbers(now) : null, answer: end };
  }

  // Probabilities, of the second class alone where there are two, and the number of the label; or outputs.
  numbers(told) {
    if (!told.probabilities) return { values: [told.value].flat(), label: null };
    const chances = told.probabilities.map(({ probability }) => probability);
    const label = told.probabilities.findIndex((each) => each.label === told.label);
    return { values: chances.length === 2 ? [chances[1]] : chances, label };
  }
}

(async () => {
  window.page = new AskPage(new RemoteModel(JSON.parse(document.getElementById("data").textContent)));
  await window.page.start({});
})();
