"""What learned policies in PyTorch share: rows and prices from files, training, and messages; needs no costframe.

A policy is a class. `Policy(table, training)` trains its networks, calling `training.improve` for each phase. `limits`
has the parameters of its models that keep no budget. `look(point, rows, has, affordable)` returns for rows the scores
of classes (n, K), and the feature that each buys next (n,), -1 for a row that ends; of no use are features outside of
`affordable` (n, d), which a row has or cannot pay for.

Numeric features are standardised, and a missing value is zero; networks see what a row has bought, and which of it is
missing. Prices are those at which a row can have a feature next, with resources that are paid once. A program's
arguments:

    --budgets 1 2 3     models that keep these budgets on each row, in the unit of prices, in place of all others
    --epochs 60         of each phase of training, at most, and so on: see `Effort`

docs/outsiders.md has the messages.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

HIDDEN, DROPOUT, RATE = 128, 0.3, 1e-3
BUDGETS = [0.65**k for k in range(12)]  # of a row, in units of the price of all features


@dataclass(frozen=True)
class Effort:
    """How long policies train."""

    epochs: int = 60  # of each phase, at most
    patience: int = 5  # epochs in which valid gains nothing
    updates: int = 60_000  # of weights, at most; unlike seconds, the same in every run
    steps: int = 40  # purchases of a row in training; in prediction it may go on


def hidden_layers(inputs: int) -> list[nn.Module]:
    """Return layers from inputs to HIDDEN outputs."""
    layers: list[nn.Module] = []
    for width in (inputs, HIDDEN):
        layers += [nn.Linear(width, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT)]
    return layers


def entropy(chances: torch.Tensor) -> torch.Tensor:
    """Return the entropy of probabilities (..., K): (...)."""
    return -(chances * chances.clamp(1e-12).log()).sum(-1)


@dataclass(frozen=True)
class Rows:
    """Standardised features (n, d), which of them are missing (n, d), and numbers of classes (n,)."""

    x: torch.Tensor
    missing: torch.Tensor
    y: torch.Tensor

    def some(self, rows: torch.Tensor) -> Rows:
        """Return some of the rows."""
        return Rows(self.x[rows], self.missing[rows], self.y[rows])

    def shown(self, has: torch.Tensor) -> torch.Tensor:
        """Return what networks see of rows that have bought `has` (n, d), 0 to 1: (n, 3 d)."""
        return torch.cat([self.x * has, has, self.missing * has], 1)


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

    def affordable(self, has: torch.Tensor, budget: float | None) -> torch.Tensor:
        """Return which features rows that have bought `has` can buy within a budget, if there is one: bool (n, d)."""
        if budget is None:
            return has == 0
        return (has == 0) & (self.paid(has)[:, None] + self.next(has) <= budget * (1 + 1e-6))


class Table:
    """What a program is told: names, labels and classes, prices, and rows to train on; and how a row is read."""

    def __init__(self, fit: dict[str, Any]) -> None:
        self.names = [feature["name"] for feature in fit["features"]]
        self.labels = {feature["name"]: feature["labels"] for feature in fit["features"] if feature.get("labels")}
        self.classes = fit["classes"]
        self.prices = Prices(self.names, tomllib.loads(Path(fit["costs"]).read_text(encoding="utf-8")))
        X, y = self._read(fit["train"], fit["target"])
        self.center = X.nanmean(0).nan_to_num()
        self.scale = (X - self.center).square().nanmean(0).sqrt().nan_to_num()
        self.scale[self.scale == 0] = 1.0
        self.train, self.valid = self._rows(X, y), self._rows(*self._read(fit["valid"], fit["target"]))
        self.constant_loss = float(entropy(torch.bincount(y) / len(y)))

    def row(self, values: dict[str, Any]) -> tuple[Rows, torch.Tensor]:
        """Return a row as far as it has values, and which features these are (1, d); its class is not known."""
        X = torch.tensor([[self._number(name, values.get(name)) for name in self.names]])
        has = torch.tensor([[float(name in values) for name in self.names]])
        return self._rows(X, torch.tensor([-1])), has

    def _read(self, path: str, target: str) -> tuple[torch.Tensor, torch.Tensor]:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        number = {str(label): code for code, label in enumerate(self.classes)}
        X = torch.tensor([[self._number(name, row[name] or None) for name in self.names] for row in rows])
        return X, torch.tensor([number[row[target]] for row in rows])

    def _number(self, name: str, value: Any) -> float:
        if value is None:
            return float("nan")
        return float(self.labels[name].index(value) if name in self.labels else value)

    def _rows(self, X: torch.Tensor, y: torch.Tensor) -> Rows:
        return Rows(((X - self.center) / self.scale).nan_to_num(), X.isnan().float(), y)


Step = tuple[list[tuple[nn.Module, torch.Tensor]], torch.Tensor]
"""Of rows: a loss for each network that learns from it, and the loss that judges them all."""
Losses = Callable[[Rows], Iterator[Step]]
"""Gives the losses of an episode of rows, step by step."""


class Training:
    """Phases of training, one after another, which share a number of updates."""

    def __init__(self, table: Table, effort: Effort) -> None:
        self.table, self.effort, self.updates = table, effort, 0
        self.steps = min(len(table.names), effort.steps)  # purchases of a row

    def improve(self, networks: list[nn.Module], losses: Losses, *, slows: bool = False) -> None:
        """Take steps of Adam on the losses of each batch; keep the networks that were best on valid.

        With `slows`, steps get smaller when valid gains nothing for half of the patience.
        """
        together = nn.ModuleList(networks)
        optimizer = torch.optim.Adam(together.parameters(), lr=RATE)
        slower = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.2, patience=self.effort.patience // 2)
        best, kept, bad = float("inf"), deepcopy(together.state_dict()), 0
        for _ in range(self.effort.epochs):
            together.train()
            self._pass_over_rows(losses, optimizer)
            together.eval()
            now = self._judge(losses)
            if slows:
                slower.step(now)
            bad = 0 if now < best - 1e-5 else bad + 1
            if not bad:
                best, kept = now, deepcopy(together.state_dict())
            if bad > self.effort.patience or self.updates > self.effort.updates:
                break
        together.load_state_dict(kept)

    def _pass_over_rows(self, losses: Losses, optimizer: torch.optim.Optimizer) -> None:
        train = self.table.train
        for rows in torch.randperm(len(train.y)).split(int(min(max(64, len(train.y) // 16), 1024))):
            for parts, _ in losses(train.some(rows)):
                for network, loss in parts:  # on one graph, whose other weights this loss does not move
                    weights = list(network.parameters())
                    slopes = torch.autograd.grad(loss, weights, retain_graph=True, allow_unused=True)
                    for weight, slope in zip(weights, slopes, strict=True):
                        weight.grad = slope
                optimizer.step()
                self.updates += 1

    def _judge(self, losses: Losses) -> float:
        """Return the mean loss that judges, on valid over the steps of an episode, with the same draws every time."""
        valid = self.table.valid
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(1)
            parts = torch.arange(len(valid.y)).split(4096)
            found = [(len(part), float(loss)) for part in parts for _, loss in losses(valid.some(part))]
        return sum(size * loss for size, loss in found) / sum(size for size, _ in found)


def draw_sets(x: torch.Tensor) -> torch.Tensor:
    """Draw a set of features for each row (n, d), of a size from none to all: 0 or 1, (n, d)."""
    return (torch.rand_like(x) < torch.rand(len(x), 1)).float()


class Policy(Protocol):
    """See the top of this file."""

    limits: list[dict[str, float]]

    def look(
        self, point: dict[str, float], rows: Rows, has: torch.Tensor, affordable: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores of classes (n, K), and what each row buys next (n,), -1 for nothing."""


def serve(name: str, train: Callable[[Table, Training], Policy]) -> None:
    """Answer messages, line by line."""
    parser = argparse.ArgumentParser(description=f"{name}, which speaks the messages of docs/outsiders.md")
    parser.add_argument("--budgets", nargs="+", type=float, help="on each row, in the unit of prices")
    for field in fields(Effort):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    asked = parser.parse_args()
    effort = Effort(**{field.name: getattr(asked, field.name) for field in fields(Effort)})
    for setting, number in asdict(effort).items():
        if number < 1:
            parser.error(f"--{setting}: expected at least 1, got {number}")
    policy: Any = None
    table: Any = None
    points: list[dict[str, float]] = []
    for line in sys.stdin:
        message = json.loads(line)
        if "fit" not in message:
            reply = _step(policy, table, points[message["point"]], message["values"])
        elif message["fit"]["kind"] != "classifier":
            reply = {"error": f"{name} is for classes, not for a {message['fit']['kind']}"}
        else:
            torch.manual_seed(message["fit"]["seed"])
            torch.set_num_threads(1)
            table = Table(message["fit"])
            policy = train(table, Training(table, effort))
            budgets = asked.budgets or [share * table.prices.full for share in BUDGETS]
            points = ([] if asked.budgets else policy.limits) + [{"budget": each} for each in budgets]
            reply = {"format": 1, "points": points}
        print(json.dumps(reply), flush=True)


def _step(policy: Policy, table: Table, point: dict[str, float], values: dict[str, Any]) -> dict[str, Any]:
    """Return what a row asks for next, or its answer."""
    rows, has = table.row(values)
    with torch.inference_mode():
        scores, picks = policy.look(point, rows, has, table.prices.affordable(has, point.get("budget")))
    if picks[0] >= 0:
        return {"asks": [table.names[int(picks[0])]]}
    chances = zip(table.classes, torch.softmax(scores[0].double(), 0).tolist(), strict=True)
    return {"answer": {"probabilities": [{"label": label, "probability": chance} for label, chance in chances]}}
