"""DIME, a program that is an outsider of comparisons: it needs PyTorch, in an environment of its own, and no costframe.

S. Gadgil, I. Covert and S.-I. Lee: *Estimating Conditional Mutual Information for Dynamic Feature Selection*, ICLR
2024. Written from the paper's description. A predictor network answers from the features that a row has bought; a value
network tells for each other feature by how much it would lower the predictor's loss, which at the optimum is the
feature's mutual information with the answer, given what is there. Both are trained together: rows buy feature after
feature, that of most value per price, or a random one with a small probability; after each, the predictor learns from
its loss, and the value network from how far it was off. The predictor first learns alone, on random sets. No value is
more than the entropy of the running prediction. A row buys until no feature is worth a threshold per price, or fits
into a budget; each threshold and each budget is a model.

Of our choice are: the sizes of networks, which have their first layers in common, the probabilities of random steps,
the thresholds and the budgets; and prices are those at which a row can have a feature next, with resources that are
paid once. Numeric features are standardised, and a missing value is zero; the networks see what was bought, and which
of it is missing. docs/outsiders.md has the messages.
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

if TYPE_CHECKING:
    from collections.abc import Callable

HIDDEN, DROPOUT, RATE = 128, 0.3, 1e-3
EXPLORE = (0.25, 0.1, 0.04, 0.02)  # probabilities of a random step, one after another
EPOCHS, PATIENCE = 60, 5  # of each
STEPS = 40  # purchases of a row in training; in prediction it may go on
UPDATES = 60_000  # of weights, at most; unlike seconds, the same in every run
THRESHOLDS = [12.0 * 0.65**k for k in range(16)]  # for the price of all features, in units of the constant's loss
BUDGETS = [0.65**k for k in range(12)]  # of a row, in units of the price of all features


class Networks(nn.Module):
    """The predictor and the value network, with layers in common."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        first = [nn.Linear(3 * features, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT)]
        self.common = nn.Sequential(*first, nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT))
        self.scores, self.worth = nn.Linear(HIDDEN, classes), nn.Linear(HIDDEN, features)

    def forward(self, x: torch.Tensor, missing: torch.Tensor, has: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores of classes (n, K), and values of features (n, d), for rows that have bought `has` (n, d)."""
        hidden = self.common(torch.cat([x * has, has, missing * has], 1))
        scores = self.scores(hidden)
        chances = torch.softmax(scores.detach(), 1)
        entropy = -(chances * chances.clamp(1e-12).log()).sum(1, keepdim=True)
        return scores, torch.sigmoid(self.worth(hidden)) * entropy


class Prices:
    """Prices of features (d,) and resources (r,), and which resources each feature needs (d, r)."""

    def __init__(self, names: list[str], table: dict[str, Any]) -> None:
        resources = table.get("resources", {})

        def all_needs(entry: Any) -> set[str]:
            direct = entry.get("needs", []) if isinstance(entry, dict) else []
            return set(direct).union(*(all_needs(resources[name]) for name in direct))

        def cost(entry: Any) -> float:
            return float(entry["cost"] if isinstance(entry, dict) else entry)

        features = [table["features"][name] for name in names]
        self.feature = torch.tensor([cost(entry) for entry in features])
        self.resource = torch.tensor([cost(entry) for entry in resources.values()])
        self.needs = torch.tensor([[float(r in all_needs(entry)) for r in resources] for entry in features])
        self.full = float(self.feature.sum() + self.resource[self.needs.sum(0) > 0].sum())

    def paid(self, has: torch.Tensor) -> torch.Tensor:
        """Return what rows that have bought `has` (n, d) have paid: (n,)."""
        return has @ self.feature + (has @ self.needs > 0).float() @ self.resource

    def next(self, has: torch.Tensor) -> torch.Tensor:
        """Return the price of each feature for rows that have bought `has`: (n, d)."""
        lacking = (has @ self.needs <= 0).float() * self.resource
        return self.feature + lacking @ self.needs.T

    def gains(self, worth: torch.Tensor, has: torch.Tensor) -> torch.Tensor:
        """Return what each feature is worth per price, -1 where rows have it: (n, d); what is free is just cheap."""
        return (worth / (self.next(has) + 1e-4 * self.full)).masked_fill(has > 0, -1.0)


class Dime:
    """What the messages are about."""

    def __init__(self, fit: dict[str, Any]) -> None:
        torch.manual_seed(fit["seed"])
        torch.set_num_threads(1)
        self.names = [feature["name"] for feature in fit["features"]]
        self.labels = {feature["name"]: feature["labels"] for feature in fit["features"] if feature.get("labels")}
        self.classes, self.target = fit["classes"], fit["target"]
        self.prices = Prices(self.names, tomllib.loads(Path(fit["costs"]).read_text(encoding="utf-8")))
        X, y = self._read(fit["train"])
        self.center = X.nanmean(0).nan_to_num()
        self.scale = (X - self.center).square().nanmean(0).sqrt().nan_to_num()
        self.scale[self.scale == 0] = 1.0
        train, valid = (self._rows(X), y), (self._rows((other := self._read(fit["valid"]))[0]), other[1])
        share = torch.bincount(y) / len(y)
        self.unit = float(-(share * share.clamp(1e-12).log()).sum()) / self.prices.full
        self.networks = Networks(len(self.names), len(self.classes))
        self._train(train, valid)
        self.networks.eval()

    def _read(self, path: str) -> tuple[torch.Tensor, torch.Tensor]:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        number = {str(label): code for code, label in enumerate(self.classes)}
        X = torch.tensor([[self._number(name, row[name] or None) for name in self.names] for row in rows])
        return X, torch.tensor([number[row[self.target]] for row in rows])

    def _number(self, name: str, value: Any) -> float:
        if value is None:
            return float("nan")
        return float(self.labels[name].index(value) if name in self.labels else value)

    def _rows(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return ((X - self.center) / self.scale).nan_to_num(), X.isnan().float()

    def _train(self, train: Any, valid: Any) -> None:
        self.updates = 0
        self._improve(self._on_random_sets, train, valid)
        for explore in EXPLORE:
            self._improve(lambda rows, y, share=explore: self._episode(rows, y, share), train, valid)

    def _improve(self, losses: Callable[..., Any], train: Any, valid: Any) -> None:
        """Take steps of Adam on each loss of each batch; keep the networks that were best on valid."""
        optimizer = torch.optim.Adam(self.networks.parameters(), lr=RATE)
        (x, missing), y = train
        best, kept, bad = float("inf"), deepcopy(self.networks.state_dict()), 0
        batch = int(min(max(64, len(y) // 16), 1024))
        for _ in range(EPOCHS):
            self.networks.train()
            for rows in torch.randperm(len(y)).split(batch):
                for loss, _ in losses((x[rows], missing[rows]), y[rows]):
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    self.updates += 1
            now = self._judge(losses, valid)
            bad = 0 if now < best - 1e-5 else bad + 1
            if not bad:
                best, kept = now, deepcopy(self.networks.state_dict())
            if bad > PATIENCE or self.updates > UPDATES:
                break
        self.networks.load_state_dict(kept)

    def _judge(self, losses: Callable[..., Any], valid: Any) -> float:
        """Return the predictor's mean loss on valid over the steps of an episode, with the same draws every time."""
        (x, missing), y = valid
        self.networks.eval()
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(1)
            parts = torch.arange(len(y)).split(4096)
            found = [(len(p), float(one)) for p in parts for _, one in losses((x[p], missing[p]), y[p])]
        return sum(size * one for size, one in found) / sum(size for size, _ in found)

    def _on_random_sets(self, rows: Any, y: torch.Tensor) -> Any:
        x, missing = rows
        has = (torch.rand_like(x) < torch.rand(len(x), 1)).float()
        loss = cross_entropy(self.networks(x, missing, has)[0], y)
        yield loss, loss

    def _episode(self, rows: Any, y: torch.Tensor, explore: float) -> Any:
        """Buy feature after feature, and give after each the loss of both networks, and that of the predictor."""
        x, missing = rows
        has = torch.zeros_like(x)
        for step in range(min(x.shape[1], STEPS)):
            scores, worth = self.networks(x, missing, has)
            before = cross_entropy(scores, y, reduction="none")
            wanted = self.prices.gains(worth.detach(), has)
            drawn = torch.rand_like(x).masked_fill(has > 0, -1.0)
            picks = torch.where(torch.rand(len(x)) < explore, drawn.argmax(1), wanted.argmax(1))
            bought = one_hot(picks, x.shape[1]).float()
            has = has + bought
            after = cross_entropy(self.networks(x, missing, has)[0], y, reduction="none")
            off = (worth * bought).sum(1) - (before - after).detach()
            first = before.mean() if step == 0 else 0.0  # what is known without a feature
            yield after.mean() + first + off.square().mean(), after.mean()

    def step(self, point: int, values: dict[str, Any]) -> dict[str, Any]:
        """Return what a row asks for next, or its answer."""
        X = torch.full((1, len(self.names)), float("nan"))
        has = torch.zeros_like(X)
        for place, name in enumerate(self.names):
            if name in values:
                X[0, place], has[0, place] = self._number(name, values[name]), 1.0
        with torch.no_grad():
            scores, worth = self.networks(*self._rows(X), has)
            gains = self.prices.gains(worth, has)
            if point >= len(THRESHOLDS):
                most = BUDGETS[point - len(THRESHOLDS)] * self.prices.full * (1 + 1e-6)
                gains[self.prices.paid(has)[:, None] + self.prices.next(has) > most] = -1.0
        best, least = int(gains.argmax()), THRESHOLDS[point] * self.unit if point < len(THRESHOLDS) else 0.0
        if gains[0, best] > least:
            return {"asks": [self.names[best]]}
        chances = zip(self.classes, torch.softmax(scores[0].double(), 0).tolist(), strict=True)
        return {"answer": {"probabilities": [{"label": label, "probability": chance} for label, chance in chances]}}


def main() -> None:
    """Answer messages, line by line."""
    dime: Any = None
    for line in sys.stdin:
        message = json.loads(line)
        if "fit" not in message:
            reply = dime.step(message["point"], message["values"])
        elif message["fit"]["kind"] != "classifier":
            reply = {"error": f"DIME is for classes, not for a {message['fit']['kind']}"}
        else:
            dime = Dime(message["fit"])
            points = [{"threshold": each} for each in THRESHOLDS] + [{"budget": each} for each in BUDGETS]
            reply = {"format": 1, "points": points}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
