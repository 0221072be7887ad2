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
the thresholds and the budgets; and what torch_policies.py has, which reads the arguments too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot
from torch_policies import HIDDEN, Rows, Step, Table, Training, draw_sets, entropy, hidden_layers, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPLORE = (0.25, 0.1, 0.04, 0.02)  # probabilities of a random step, one after another
THRESHOLDS = [12.0 * 0.65**k for k in range(16)]  # for the price of all features, in units of the constant's loss
CHEAP = 1e-4  # what is free has this price, in units of that of all features


class Networks(nn.Module):
    """The predictor and the value network, with layers in common."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.common = nn.Sequential(*hidden_layers(3 * features))
        self.scores, self.worth = nn.Linear(HIDDEN, classes), nn.Linear(HIDDEN, features)

    def forward(self, shown: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores of classes (n, K), and values of features (n, d)."""
        hidden = self.common(shown)
        scores = self.scores(hidden)
        most = entropy(torch.softmax(scores.detach(), 1))
        return scores, torch.sigmoid(self.worth(hidden)) * most[:, None]


class Dime:
    """Networks that are trained on a table, and the policy that they are."""

    def __init__(self, table: Table, training: Training) -> None:
        self.prices, self.steps = table.prices, training.steps
        self.limits = [{"threshold": each * (table.constant_loss / self.prices.full)} for each in THRESHOLDS]
        self.networks = Networks(len(table.names), len(table.classes))
        training.improve([self.networks], self._on_random_sets)
        for explore in EXPLORE:
            training.improve([self.networks], lambda rows, share=explore: self._episode(rows, share))

    def look(
        self, point: dict[str, float], rows: Rows, has: torch.Tensor, affordable: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Buy what is worth most per price, if that is more than the threshold."""
        scores, worth = self.networks(rows.shown(has))
        most, picks = self._gains(worth, has).masked_fill(~affordable, -1.0).max(1)
        return scores, torch.where(most > point.get("threshold", 0.0), picks, -1)

    def _gains(self, worth: torch.Tensor, has: torch.Tensor) -> torch.Tensor:
        """Return what each feature is worth per price, -1 where rows have it: (n, d)."""
        return (worth / (self.prices.next(has) + CHEAP * self.prices.full)).masked_fill(has > 0, -1.0)

    def _on_random_sets(self, rows: Rows) -> Iterator[Step]:
        loss = cross_entropy(self.networks(rows.shown(draw_sets(rows.x)))[0], rows.y)
        yield [(self.networks, loss)], loss

    def _episode(self, rows: Rows, explore: float) -> Iterator[Step]:
        """Buy feature after feature, and give after each the loss of both networks, and that of the predictor."""
        n, d = rows.x.shape
        has = torch.zeros(n, d)
        for step in range(self.steps):
            scores, worth = self.networks(rows.shown(has))
            before = cross_entropy(scores, rows.y, reduction="none")
            wanted = self._gains(worth.detach(), has)
            drawn = torch.rand(n, d).masked_fill(has > 0, -1.0)
            picks = torch.where(torch.rand(n) < explore, drawn.argmax(1), wanted.argmax(1))
            bought = one_hot(picks, d).float()
            has = has + bought
            after = cross_entropy(self.networks(rows.shown(has))[0], rows.y, reduction="none")
            off = (worth * bought).sum(1) - (before - after).detach()
            first = before.mean() if step == 0 else 0.0  # what is known without a feature
            yield [(self.networks, after.mean() + first + off.square().mean())], after.mean()


if __name__ == "__main__":
    serve("DIME", Dime)
