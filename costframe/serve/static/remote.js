// Who answers a page that a service serves: `next(state, given)`, as ask.js describes it, by a request for each step.

class RemoteModel {
  constructor({ name, kind, unit, classes, features }) {
    const listed = features.map((feature) => ({
      name: feature.name,
      labels: (feature.labels ?? []).map((text, number) => [number, text]),
      free: !["number", "category"].includes(feature.kind),
    }));
    this.about = { title: name, kind, unit, classes: classes?.map(String) ?? null, features: listed };
    this.labels = new Map(listed.map((feature) => [feature.name, feature.labels]));
  }

  async next(state, { known, values, absent } = {}) {
    const told = { state, values: this.write(known ?? values ?? {}), unavailable: absent ?? [], include: ["why", "so_far"] };
    const response = await fetch("next", {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(told),
    });
    const reply = await response.json();
    if (!response.ok) throw new Error(reply.error);
    return this.read(reply);
  }

  // Numbers of labels as the labels that the service takes.
  write(values) {
    const name = (feature, value) => (value === null ? null : this.labels.get(feature)?.[value]?.[1] ?? value);
    return Object.fromEntries(Object.entries(values).map(([feature, value]) => [feature, name(feature, value)]));
  }

  read({ state, asks, cost, why, so_far: now, answer }) {
    const needs = asks.map(({ name, price }) => ({ name, price, why: why.text }));
    const end = answer === null ? null : { ...this.numbers(answer), cost, rounds: answer.rounds, reason: answer.reason };
    return { state, needs, bill: cost, now: this.numbers(now), answer: end };
  }

  // Probabilities, of the second class alone where there are two, and the number of the label; or outputs.
  numbers(told) {
    if (!told) return { values: [NaN], label: 0 };
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
