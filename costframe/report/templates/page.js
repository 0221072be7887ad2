// The choice of every budget stands in the page; this script looks it up and shows its card.
"use strict";

const [control, slider, budget, said, occasion] = ["control", "slider", "budget", "said", "occasion"].map((id) =>
  document.getElementById(id),
);
const cards = document.querySelectorAll(".card");
const pickers = document.querySelectorAll(".spot, button"); // points of the picture, and names in the tables
const choices = JSON.parse(control.dataset.choices); // [cost, a round budget, card] by ascending cost
const unit = control.dataset.unit;

function show(number, words) {
  for (const card of cards) {
    card.hidden = Number(card.dataset.card) !== number;
    if (!card.hidden) said.textContent = `${words}: ${card.dataset.sentence}`;
  }
  for (const picker of pickers) picker.classList.toggle("chosen", picker.dataset.card === String(number));
  occasion.textContent = words;
}

function spend(amount) {
  const place = choices.findLastIndex(([cost]) => cost <= amount);
  slider.value = Math.max(place, 0);
  slider.setAttribute("aria-valuetext", `${amount} ${unit} per row`);
  const any = place === choices.length - 1;
  show(place < 0 ? -1 : choices[place][2], any ? control.dataset.any : `Within ${amount} ${unit} per row`);
}

slider.addEventListener("input", () => {
  budget.value = choices[slider.value][1];
  spend(choices[slider.value][1]);
});
budget.addEventListener("input", () => {
  if (budget.value !== "" && budget.valueAsNumber >= 0) spend(budget.valueAsNumber);
});
for (const picker of pickers) {
  if (picker.dataset.card === undefined) continue;
  picker.addEventListener("click", () => {
    show(Number(picker.dataset.card), "Picked");
    occasion.scrollIntoView({ block: "nearest" });
  });
}
control.hidden = false;
spend(budget.valueAsNumber);
