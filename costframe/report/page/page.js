// The choice of every budget stands in the page; this script looks it up and shows its card.
"use strict";

const control = document.getElementById("control");
const slider = document.getElementById("slider");
const budget = document.getElementById("budget");
const said = document.getElementById("said");
const occasion = document.getElementById("occasion");
const limit = document.getElementById("limit");
const tip = document.getElementById("tip");
const cards = document.querySelectorAll(".card");
const spots = document.querySelectorAll(".spot");
const stops = JSON.parse(control.dataset.stops); // budgets of the slider, ascending
const choices = JSON.parse(control.dataset.choices); // [cost, card] by ascending cost
const unit = control.dataset.unit;

function choose(amount) {
  const affordable = choices.filter(([cost]) => cost <= amount);
  return affordable.length ? affordable.at(-1)[1] : -1;
}

function show(number, words) {
  for (const card of cards) {
    card.hidden = Number(card.dataset.card) !== number;
    if (!card.hidden) said.textContent = `${words}: ${card.dataset.sentence}`;
  }
  for (const spot of spots) {
    spot.classList.toggle("chosen", Number(spot.dataset.card) === number);
  }
  occasion.textContent = words;
}

function spend(amount) {
  const place = stops.findIndex((stop) => stop >= amount);
  const last = stops.length - 1;
  slider.value = place < 0 ? last : place;
  slider.setAttribute("aria-valuetext", `${amount} ${unit} per row`);
  const x = `${(100 * slider.value) / last}%`;
  limit.setAttribute("x1", x);
  limit.setAttribute("x2", x);
  show(choose(amount), amount >= stops[last] ? control.dataset.any : `Within ${amount} ${unit} per row`);
}

function point(spot) {
  const text = spot?.dataset.tip;
  tip.hidden = !text;
  if (!text) return;
  const { x, y } = spot.querySelector("svg").attributes;
  tip.textContent = text;
  tip.style.left = x.value;
  tip.style.top = y.value;
  tip.style.transform = `translate(-${x.value}, calc(-100% - 14px))`; // never beyond the picture's sides
}

slider.addEventListener("input", () => {
  budget.value = stops[slider.value];
  spend(stops[slider.value]);
});
budget.addEventListener("input", () => {
  if (budget.value !== "" && budget.valueAsNumber >= 0) spend(budget.valueAsNumber);
});
for (const spot of spots) {
  spot.addEventListener("mouseenter", () => point(spot));
  spot.addEventListener("mouseleave", () => point(null));
  if (spot.dataset.card === undefined) continue; // one that listened to the focus would be a stop of the Tab key
  spot.addEventListener("focus", () => point(spot));
  spot.addEventListener("blur", () => point(null));
  const pick = () => show(Number(spot.dataset.card), "Picked in the picture");
  spot.addEventListener("click", pick);
  spot.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // a space would scroll the page
    pick();
  });
}
control.hidden = false;
spend(budget.valueAsNumber);
