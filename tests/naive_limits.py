"""Slow, obvious twin of rows under limits: every trip walks anew from the root, with sets, and prices as fractions."""

from fractions import Fraction

import naive
import numpy as np

from costframe import Route
from costframe.core.prices.exact_prices import exact
from costframe.core.stages.run_stages import LeftOutputs

__all__ = ["exact"]


class LimitedRow:
    """A row, walked as far as its values reach: `needs` are the features of the next trip, none at the end."""

    def __init__(self, tree, prices, limits, by_path, values, paid=((), ()), ranks=None):
        self.tree, self.prices, self.bank, self.by_path, self.values = tree, prices, tree.bank, by_path, values
        self.limit = limits.cap if limits.cap == np.inf else exact(limits.cap)
        self.barred, self.bought, self.resources = set(limits.barred), set(paid[0]), set(paid[1])
        used = [int(f) for f in tree.layout.used]
        self.ranks = dict.fromkeys(used, 0) if ranks is None else dict(zip(used, ranks.tolist(), strict=True))
        self.held = {f for f, rank in self.ranks.items() if rank > 0} - self.bought
        self.spent, self.used, self.uses, self.weight, self.comparisons = Fraction(0), set(), 0, 0, 0
        self.outputs, self.given_up, self.node, self.read = {}, {}, {}, {}  # by learner
        self.stage, self.route_score, self.reason, self.scores = 0, 0.0, "complete", None
        self.reason_before = "complete"  # this stage
        self.compared = set()  # sums that decide whether the row can pay
        self.needs = self.walk()

    def walk(self):
        """Go on through the stages; return the features that the row waits for."""
        fallbacks = self.tree.fallbacks
        expected = LeftOutputs(self.bank, fallbacks) if fallbacks else None
        while True:
            stage, learners = self.tree.stages[self.stage], self.learners()
            if not all(self.evaluate(t) for t in learners if t not in self.outputs):
                return self.look_ahead([t for t in learners if t not in self.outputs and t not in self.given_up])
            if self.release(learners):
                continue
            known = {t: expected.of(t, node) for t, node in self.given_up.items()} if expected else {}
            scores = naive.weigh(self.tree, self.stage, self.outputs | known)
            if not isinstance(stage, Route) or (self.given_up and fallbacks):
                self.scores = scores
                return set()
            self.route_score, self.reason_before = scores[0], self.reason
            self.stage = stage.above if scores[0] > stage.threshold else stage.below

    def release(self, learners):
        """Release the features of the next rank that a learner given up waits for and the row can pay for."""
        ranks, (unit, counts) = [], self.prices.comparisons
        for t in learners:
            if t not in self.given_up:
                continue
            if self.splits(t):
                at = naive.node_at(self.bank.trees, int(self.bank.index[t]), self.node.get(t, 0))
                features = {int(self.bank.trees.feature[at])}
                compared = unit * int(counts[next(iter(features))])
            else:
                features, compared = naive.all_features(self.bank, t), 0
            if features & self.barred or not features & self.held:
                continue
            total = self.spent + self.price(features, self.bought, self.resources)[0] + self.again(features)
            total += compared + self.own(t)
            self.compared.add(total)
            if total <= self.limit:
                ranks.append(max(self.ranks[f] for f in features & self.held))
        if not ranks:
            return False
        self.held = {f for f in self.held if self.ranks[f] > min(ranks)}
        for t in learners:
            self.given_up.pop(t, None)
        self.reason = self.reason_before
        return True

    def final_scores(self):
        """Return the scores of the answer; after learners given up, the expected ones of `Fallbacks`."""
        maps, stage, scores = self.tree.fallbacks, self.tree.stages[self.stage], self.scores
        if not (self.given_up and maps):
            return scores
        knots, rows = maps.knots, slice(self.stage * len(maps.knots), (self.stage + 1) * len(maps.knots))
        left = np.searchsorted(knots[1:-1], self.share, side="right")
        right = (self.share - knots[left]) / (knots[left + 1] - knots[left])  # weight of the knot there
        curves = (
            each[rows][left] * (1.0 - right) + each[rows][left + 1] * right
            for each in (maps.offset, maps.slope, maps.carry)
        )
        partial = scores[:1] if isinstance(stage, Route) else scores
        mean, low, high = maps.mean[self.stage], maps.low[self.stage], maps.high[self.stage]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            offset, slope, carry = curves
            found = offset + slope * partial + carry * self.route_score
            gap = np.where(np.isfinite(found), found, mean) - mean
            room = np.where(gap > 0, high, low) - mean
            return mean + np.where(np.abs(gap) > np.abs(room), room / gap, 1.0).min() * gap

    def learners(self):
        return [t for t, _ in naive.active(self.bank, self.tree.stages[self.stage])]

    def evaluate(self, t):
        """Evaluate a learner or give it up; return False if it waits for a feature."""
        reads = set() if self.splits(t) else naive.all_features(self.bank, t)
        if t in self.given_up or not self.can_pay(t, reads):
            return True
        if reads - set(self.values):
            return False
        self.pay(t, reads)
        if self.bank.kind[t] == 0 and (waits := self.walk_tree(t)) is not None:
            return not waits
        self.outputs[t] = naive.learner_outputs(self.bank, t, self.values)[0]
        self.weight += int(self.tree.weights[1][t])
        self.spent += self.own(t)
        return True

    def walk_tree(self, t):
        """Walk a tree to a leaf, or return whether it waits for a feature, else it is given up."""
        trees, index, (unit, counts) = self.bank.trees, int(self.bank.index[t]), self.prices.comparisons
        self.node.setdefault(t, 0)
        while (f := int(trees.feature[at := naive.node_at(trees, index, self.node[t])])) >= 0:
            fresh, count = {f} - self.read[t], int(counts[f])
            if not self.can_pay(t, fresh, unit * count):
                return False
            if f not in self.values:
                return True
            self.pay(t, fresh)
            self.spent += unit * count
            self.comparisons += count
            self.node[t] = int((trees.left if naive.goes_left(trees, at, self.values[f]) else trees.right)[at])
        return None

    def splits(self, t):
        """Whether a learner acquires features split by split."""
        return self.by_path and self.bank.kind[t] == 0

    def own(self, t):
        unit, weights = self.tree.weights
        return exact(self.prices.learner) * unit * int(weights[t])

    def price(self, features, bought, resources):
        """Price of features, and the resources that they need beside those paid."""
        needed = {int(r) for f in features - bought for r in np.flatnonzero(self.prices.needs[f])} - resources
        prices = [*self.prices.cost[sorted(features - bought)], *self.prices.resource_cost[sorted(needed)]]
        return sum(map(exact, prices), Fraction(0)), needed

    def again(self, features):
        return exact(self.prices.reuse) * len(features & self.used)

    def can_pay(self, t, features, compared=0):
        """Whether the row can pay for features, a comparison and the learner; else give the learner up."""
        total = self.spent + self.price(features, self.bought, self.resources)[0] + self.again(features)
        total += compared + self.own(t)
        if not features & (self.barred | self.held):
            self.compared.add(total)
            if total <= self.limit:
                return True
        at = naive.node_at(self.bank.trees, int(self.bank.index[t]), self.node[t]) if t in self.node else -1
        self.given_up[t] = at
        self.reason = "unavailable" if features & self.barred or self.reason == "unavailable" else "max_cost"
        return False

    def pay(self, t, features):
        price, needed = self.price(features, self.bought, self.resources)
        self.spent += price + self.again(features)
        self.bought, self.resources, self.used = self.bought | features, self.resources | needed, self.used | features
        self.read[t] = self.read.get(t, set()) | features
        self.uses += len(features)

    def look_ahead(self, learners):
        """Features that the row can certainly pay, if each learner before costs as much as it can."""
        found, most, bought, resources = set(), self.spent, self.bought, self.resources
        unit, counts = self.prices.comparisons
        for t in learners:
            reads, trees, index = naive.all_features(self.bank, t), self.bank.trees, int(self.bank.index[t])
            absent = self.barred | self.held
            if reads & absent and not self.splits(t):
                continue
            uses, reads = len(reads), reads - (absent - bought)
            price, needed = self.price(reads, bought, resources)
            bought, resources = bought | reads, resources | needed
            depth = int(trees.node_levels()[trees.tree_of_node == index].max()) if self.bank.kind[t] == 0 else 0
            most += price + self.own(t) + unit * depth * int(max(counts)) + exact(self.prices.reuse) * uses
            node, unknown = self.node.get(t, 0), reads - set(self.values)
            self.compared.add(most)
            if most > self.limit:
                return found or ({int(trees.feature[naive.node_at(trees, index, node)])} if self.splits(t) else unknown)
            found |= naive.certain(trees, index, self.values, absent, node) if self.splits(t) else unknown
        return found

    @property
    def share(self):
        learners = self.learners()
        return sum(t in self.outputs for t in learners) / len(learners) if learners else 1.0


def trips(tree, prices, limits, by_path, row, known=(), paid=((), ())):
    """The end of a row, and the features of each trip before; `known` features have values from the start."""
    values, needs, ranks = {f: row[f] for f in known}, [], tree.ranks(prices, limits)
    while (walked := LimitedRow(tree, prices, limits, by_path, values, paid, ranks)).needs:
        needs.append(sorted(walked.needs))
        values |= {f: row[f] for f in walked.needs}
    return walked, needs
