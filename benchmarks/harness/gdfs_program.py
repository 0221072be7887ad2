"""Greedy dynamic feature selection (GDFS), a program that is an outsider of comparisons, as dime_program.py is.

I. Covert et al.: *Learning to Maximize Mutual Information for Dynamic Feature Selection*, ICML 2023. Written from the
paper. A policy network sees the features that a row has bought, and picks the next one; a predictor network
answers from any set of features. Both are trained together: the pick is relaxed (Concrete distribution), so that the
loss after one more feature has a gradient in it; the predictor first learns alone, on random sets.

The paper's prices are all one, and a row buys a number of features, which is `--budgets 1 2 3` here. With other prices
the policy maximizes the fall of the loss per price of the pick, resources included, which for equal prices is the
paper's objective. A row buys until no feature fits into its budget, or until the predictor's entropy is below a
threshold; each budget and each threshold is a model.

Of our choice are: the sizes of networks, the temperatures, the thresholds and the budgets; and what torch_policies.py
has, which reads the arguments too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot
from torch_policies import HIDDEN, Rows, Step, Table, Training, draw_sets, entropy, hidden_layers, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPERATURES = [10 ** (-k / 4) for k in range(5)]  # of relaxed picks, one after another
ENTROPIES = [0.9 * 0.75**k for k in range(16)]  # in units of the constant's loss
CHEAP = 1e-3  # what is free has this price, in units of that of all features


class Gdfs:
    """Networks that are trained on a table, and the policy that they are."""

    def __init__(self, table: Table, training: Training) -> None:
        self.prices, self.steps = table.prices, training.steps
        self.limits = [{"entropy": each * table.constant_loss} for each in ENTROPIES]
        d = len(table.names)
        self.policy, self.predictor = (
            nn.Sequential(*hidden_layers(3 * d), nn.Linear(HIDDEN, outputs)) for outputs in (d, len(table.classes))
        )
        training.improve([self.predictor], self._on_random_sets, slows=True)
        for heat in TEMPERATURES:
            both = [self.predictor, self.policy]
            training.improve(both, lambda rows, heat=heat: self._episode(rows, heat), slows=True)

    def look(
        self, point: dict[str, float], rows: Rows, has: torch.Tensor, affordable: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Buy what the policy picks, if the predictor is not sure yet."""
        shown = rows.shown(has)
        scores = self.predictor(shown)
        goes_on = affordable.any(1) & (entropy(torch.softmax(scores, 1)) > point.get("entropy", -1.0))
        picks = self.policy(shown).masked_fill(~affordable, -1e9).argmax(1)
        return scores, torch.where(goes_on, picks, -1)

    def _on_random_sets(self, rows: Rows) -> Iterator[Step]:
        loss = cross_entropy(self.predictor(rows.shown(draw_sets(rows.x))), rows.y)
        yield [(self.predictor, loss)], loss

    def _episode(self, rows: Rows, temperature: float) -> Iterator[Step]:
        """Buy feature after feature, and give both losses after each: of the predictions, and the gain per price."""
        n, d = rows.x.shape
        has = torch.zeros(n, d)
        for _ in range(self.steps):
            shown = rows.shown(has)
            logits = self.policy(shown).masked_fill(has > 0, -1e9)
            if torch.is_grad_enabled():  # else the pick itself is judged
                logits = logits - torch.log(-torch.log(torch.rand(n, d).clamp(1e-9, 1 - 1e-7)))
            relaxed = torch.softmax(logits / temperature, 1)
            after = cross_entropy(self.predictor(rows.shown(torch.maximum(has, relaxed))), rows.y, reduction="none")
            with torch.no_grad():
                before = cross_entropy(self.predictor(shown), rows.y, reduction="none")
                price = self.prices.next(has) + CHEAP * self.prices.full
            gain = (before - after) / (relaxed * price).sum(1) * price.mean()
            yield [(self.predictor, after.mean()), (self.policy, -gain.mean())], after.mean()
            has = has + one_hot(logits.argmax(1), d)


if __name__ == "__main__":
    serve("GDFS", Gdfs)
