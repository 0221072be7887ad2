"""Two networks see what a row has bought: one predicts, the other guesses what each further feature would gain."""

import csv
import json
import sys
from pathlib import Path

import torch
from torch.nn import Dropout, Linear, ReLU, Sequential
from torch.nn.functional import cross_entropy, softmax, softplus


def train(fit: dict, names: list[str]) -> tuple:
    """Return both networks, trained on random sets of features, and the features' means and deviations."""
    rows = list(csv.DictReader(Path(fit["train"]).read_text().splitlines()))
    x = torch.tensor([[float(row[name] or "nan") for name in names] for row in rows])
    y = torch.tensor([fit["classes"].index(row[fit["target"]]) for row in rows])
    center, scale = x.nanmean(0), (x - x.nanmean(0)).square().nanmean(0).sqrt() + 1e-9
    x, d = ((x - center) / scale).nan_to_num(), len(names)
    first, second = (Sequential(Linear(2 * d, 64), ReLU(), Dropout(0.2), Linear(64, k)) for k in (2, d))
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=3e-3, weight_decay=1e-4)
    for _ in range(1500):
        has = (torch.rand(x.shape) < torch.rand(len(x), 1)).float()
        buys = torch.eye(d)[torch.randint(d, (len(x),))]  # the feature that each row buys next
        sets = (torch.cat([x * held, held], 1) for held in (has, torch.maximum(has, buys)))
        before, after = (cross_entropy(first(shown), y, reduction="none") for shown in sets)
        guess = (softplus(second(torch.cat([x * has, has], 1))) * buys).sum(1)
        optimizer.zero_grad()
        (before + after + (guess - (before - after).detach()).square()).mean().backward()
        optimizer.step()
    return first.eval(), second.eval(), center, scale


for message in map(json.loads, sys.stdin):
    if "fit" in message:
        fit = message["fit"]
        names, prices = ([feature[key] for feature in fit["features"]] for key in ("name", "price"))
        torch.manual_seed(fit["seed"])
        predictor, gains, center, scale = train(fit, names)
        reply = {"format": 1, "points": [{"least gain": 0.3 / 3**point} for point in range(5)]}  # per unit of price
    else:
        values = {name: float("nan") if value is None else value for name, value in message["values"].items()}
        has = torch.tensor([float(name in values) for name in names])
        x = torch.tensor([values.get(name, float("nan")) for name in names])
        shown = torch.cat([((x - center) / scale).nan_to_num(), has])
        worth = (softplus(gains(shown)) / torch.tensor(prices)).masked_fill(has > 0, 0)
        chances = zip(fit["classes"], softmax(predictor(shown), 0).tolist(), strict=True)
        answer = {"probabilities": [{"label": label, "probability": chance} for label, chance in chances]}
        reply = {"asks": [names[worth.argmax()]]} if worth.max() > 0.3 / 3 ** message["point"] else {"answer": answer}
    print(json.dumps(reply))
