"""A learned acquisition policy, as users of that field would try: greedy dynamic feature selection (GDFS).

I. Covert et al.: *Learning to Maximize Mutual Information for Dynamic Feature Selection*, ICML 2023. Written from the
paper. A policy network sees the features that a row has bought, and picks the next one; a predictor network
answers from any set of features. Both are trained together: the pick is relaxed (Concrete distribution), so that the
loss after one more feature has a gradient in it; the predictor first learns alone, on random sets.

The paper's prices are all one. With others the policy maximizes the fall of the loss per price of the pick, resources
included, which for equal prices is the paper's objective. Prices are those at which a row can have a feature next:
resources are paid with the first feature that needs them. A row buys until no feature is left within its budget, or
until the predictor's entropy is below a threshold, if there is one; each budget and threshold is a point.

Numeric features are standardised, and a missing value is zero; the networks see which features were bought and which
of these are missing. Runs on two threads of the CPU.
"""

from __future__ import annotations

import importlib.util
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN, DROPOUT, RATE = 128, 0.3, 1e-3
TEMPERATURES = np.geomspace(1.0, 0.1, 5)
EPOCHS, PATIENCE = 60, 4  # of each temperature
STEPS = 40  # purchases of a row in training; in prediction it may go on
SECONDS = 150.0  # of all processors together, in training; then training stops
BUDGETS = 16  # geometric, up to all features
ENTROPIES = (0.5, 0.2, 0.08, 0.03)  # in units of the constant's


def gdfs_points(table: Any) -> list[dict[str, float]]:
    """Train once, and return a point for each budget and threshold.

    LookupError where there is no PyTorch, and for rankings, which the method does not do.
    """
    if not importlib.util.find_spec("torch"):
        raise LookupError("GDFS needs PyTorch: pip install torch")
    if not table.classes:
        raise LookupError("GDFS is for classes")
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(2)
    data = _prepared(table)
    model = _Model.of(data["train"], table)
    model.train(data["train"], data["valid"])
    full = table.costs.full_cost(table.features)
    cheapest = float(table.flat()[table.flat() > 0].min())
    found: dict[str, list[tuple[float, float]]] = {}
    for part, key in (("valid", "val"), ("test", "test")):
        for budget in np.unique(np.r_[np.geomspace(cheapest, full, BUDGETS), full]):
            for predicted, cost in model.answers(data[part], float(budget) + 1e-6 * full):
                shown = predicted if table.classes > 2 else predicted[:, 1]
                found.setdefault(key, []).append((float(table.score(part, shown)), float(cost.mean())))
    return [
        {"val": val[0], "val_cost": val[1], "test": test[0], "test_cost": test[1]}
        for val, test in zip(found["val"], found["test"], strict=True)
    ]


@define
class _Rows:
    """Standardised features (n, d), which of them are missing (n, d), class numbers (n,): tensors."""

    x: Any
    missing: Any
    y: Any

    def some(self, rows: Any) -> _Rows:
        return _Rows(self.x[rows], self.missing[rows], self.y[rows])

    def seen(self, mask: Any) -> Any:
        """Return what networks are shown of rows that have bought `mask`, 0 to 1: (n, 3 d)."""
        import torch

        return torch.cat([self.x * mask, mask, self.missing * mask], 1)


def _prepared(table: Any) -> dict[str, _Rows]:
    import torch

    train = table.X["train"]
    center, scale = np.nanmean(train, axis=0), np.nanstd(train, axis=0)
    codes = np.unique(table.y["train"])
    out = {}
    for part, X in table.X.items():
        x = np.nan_to_num((X - np.nan_to_num(center)) / np.where(scale > 0, scale, 1.0))
        y = np.searchsorted(codes, table.y[part])
        out[part] = _Rows(
            torch.tensor(x, dtype=torch.float32), torch.tensor(np.isnan(X), dtype=torch.float32), torch.tensor(y)
        )
    return out


def _network(inputs: int, outputs: int) -> Any:
    from torch import nn

    hidden = []
    for width in (inputs, HIDDEN):
        hidden += [nn.Linear(width, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT)]
    return nn.Sequential(*hidden, nn.Linear(HIDDEN, outputs))


@define
class _Model:
    """A policy and a predictor, and the prices as tensors: features (d,), their needs (d, r), resources (r,)."""

    policy: Any
    predictor: Any
    cost: Any
    needs: Any
    resource: Any
    least: float
    batch: int

    @classmethod
    def of(cls, train: _Rows, table: Any) -> _Model:
        import torch

        d, unit = train.x.shape[1], table.costs.full_cost(table.features)
        prices = [torch.tensor(each, dtype=torch.float32) for each in (table.cost, table.needs, table.resource)]
        batch = int(min(max(64, len(train.y) // 16), 1024))
        return cls(_network(3 * d, d), _network(3 * d, table.classes), *prices, 1e-3 * unit, batch)

    def price(self, mask: Any) -> Any:
        """Return the next price of each feature, resources included, for rows that have bought `mask`: (n, d)."""
        if not len(self.resource):
            return self.cost.expand(mask.shape)
        lacking = (mask @ self.needs <= 0).float() * self.resource  # resources that no bought feature needed
        return self.cost + lacking @ self.needs.T

    def train(self, train: _Rows, valid: _Rows) -> None:
        """Train the predictor alone, then both at falling temperatures, each until valid gains nothing more."""
        until = time.process_time() + SECONDS
        both = [self.predictor, self.policy]
        self._improve([self.predictor], self._on_random_sets, train, valid, until)
        for temperature in TEMPERATURES:
            heat = float(temperature)
            self._improve(both, lambda rows, heat=heat: self._episode(rows, heat), train, valid, until)

    def _improve(self, networks: list[Any], losses: Any, train: _Rows, valid: _Rows, until: float) -> None:
        """Take steps of Adam on the parts of each batch's losses; keep the networks that were best on valid."""
        import torch

        weights = [weight for network in networks for weight in network.parameters()]
        optimizer = torch.optim.Adam(weights, lr=RATE)
        slower = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.2, patience=PATIENCE // 2)
        best, kept, bad = np.inf, [deepcopy(network.state_dict()) for network in networks], 0
        for _ in range(EPOCHS):
            for network in networks:
                network.train()
            for rows in torch.randperm(len(train.y)).split(self.batch):
                for pairs in losses(train.some(rows)):
                    optimizer.zero_grad()
                    for network, loss in pairs:  # each network has a loss of its own, on one graph
                        own = list(network.parameters())
                        for weight, slope in zip(own, torch.autograd.grad(loss, own, retain_graph=True), strict=True):
                            weight.grad = slope
                    optimizer.step()
            now = self._judged(losses, valid)
            slower.step(now)
            bad = 0 if now < best - 1e-5 else bad + 1
            if not bad:
                best, kept = now, [deepcopy(network.state_dict()) for network in networks]
            if bad > PATIENCE or time.process_time() > until:
                break
        for network, state in zip(networks, kept, strict=True):
            network.load_state_dict(state)

    def _judged(self, losses: Any, valid: _Rows) -> float:
        """Return the mean of the predictor's loss on valid, over the steps of an episode."""
        import torch

        self.policy.eval()
        self.predictor.eval()
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(1)  # the same random sets every time
            parts = [valid.some(rows) for rows in torch.arange(len(valid.y)).split(4096)]
            return float(np.mean([float(pairs[0][1]) for part in parts for pairs in losses(part)]))

    def _on_random_sets(self, rows: _Rows) -> Iterator[list[tuple[Any, Any]]]:
        """Give the predictor's loss on a set of features of each row, of a size drawn from none to all."""
        import torch

        mask = (torch.rand_like(rows.x) < torch.rand(len(rows.y), 1)).float()
        loss = torch.nn.functional.cross_entropy(self.predictor(rows.seen(mask)), rows.y)
        yield [(self.predictor, loss)]

    def _episode(self, rows: _Rows, temperature: float) -> Iterator[list[tuple[Any, Any]]]:
        """Buy feature after feature, and give both losses after each: of the predictions, and the gain per price."""
        import torch
        from torch.nn.functional import cross_entropy, one_hot

        n, d = rows.x.shape
        mask = torch.zeros(n, d)
        for _ in range(min(d, STEPS)):
            shown = rows.seen(mask)
            logits = self.policy(shown).masked_fill(mask > 0, -1e9)
            noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-9, 1 - 1e-7)))
            if not torch.is_grad_enabled():
                noise = torch.zeros_like(noise)
            relaxed = torch.softmax((logits + noise) / temperature, 1)
            after = cross_entropy(self.predictor(rows.seen(torch.maximum(mask, relaxed))), rows.y, reduction="none")
            with torch.no_grad():
                before = cross_entropy(self.predictor(shown), rows.y, reduction="none")
                price = self.price(mask) + self.least
            gain = (before - after) / (relaxed * price).sum(1) * price.mean()
            yield [(self.predictor, after.mean()), (self.policy, -gain.mean())]
            mask = mask + one_hot((logits + noise).argmax(1), d) * (1 - mask)

    def answers(self, rows: _Rows, budget: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Buy within a budget; return predictions (n, classes) and costs (n,) without a threshold and with each."""
        import torch
        from torch.nn.functional import one_hot

        self.policy.eval()
        self.predictor.eval()
        share = torch.bincount(rows.y) / len(rows.y)
        constant = float(-(share * share.clamp(1e-12).log()).sum())
        limits = [-1.0, *(constant * entropy for entropy in ENTROPIES)]
        with torch.no_grad():
            mask, paid = torch.zeros_like(rows.x), torch.zeros(len(rows.y))
            answer, cost, entropy = self._answer(rows, mask, paid)
            kept = [(answer.clone(), cost.clone()) for _ in limits]
            going = [torch.ones(len(rows.y), dtype=torch.bool) for _ in limits]
            for _ in range(rows.x.shape[1]):
                going = [more & (entropy > limit) for limit, more in zip(limits, going, strict=True)]
                price = self.price(mask)
                within = (paid[:, None] + price <= budget) & (mask == 0)
                buys = within.any(1)
                if not (buys & torch.stack(going).any(0)).any():
                    break
                pick = self.policy(rows.seen(mask)).masked_fill(~within, -1e9).argmax(1)
                bought = one_hot(pick, mask.shape[1]) * buys[:, None]
                mask, paid = mask + bought, paid + (bought * price).sum(1)
                answer, cost, entropy = self._answer(rows, mask, paid)
                for (kept_answer, kept_cost), more in zip(kept, going, strict=True):
                    kept_answer[more], kept_cost[more] = answer[more], cost[more]
        return [(answer.numpy(), cost.numpy()) for answer, cost in kept]

    def _answer(self, rows: _Rows, mask: Any, paid: Any) -> tuple[Any, Any, Any]:
        import torch

        answer = torch.softmax(self.predictor(rows.seen(mask)), 1)
        return answer, paid, -(answer * answer.clamp(1e-12).log()).sum(1)
