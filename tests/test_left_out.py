"""What rows do without for a cap in an outage: the cap pays for the rest, which loses least; pages find the same."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.core.prices.basket import price_exactly
from costframe.core.prices.limits import Limits
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.left_out import left_out
from costframe.core.stages.set_losses import SetLosses
from costframe.core.sums import to_grid
from costframe.page.asked import describe_prices
from costframe.page.render import STATIC
from costframe.page.stages import describe_losses

PRICES = (0.0, 0.1, 0.3, 1.0, 2.5, 1 / 3)
FAR_APART = [(), (1e-9, 1e9), (1e-300, 1e300)]  # beside them


def draw_case(d, seed):
    """Draw prices with resources that need others, expected losses of the features read, and limits of a row.

    Some of what was paid for before is unavailable, as if its value was lost.
    """
    rng = np.random.default_rng(seed)
    names, drawn = [f"f{i}" for i in range(d)], ["visit", "draw", "scan"]
    needs = [[drawn[r] for r in np.flatnonzero(rng.random(3) < 0.3)] for _ in names]
    drawn_from = (*PRICES, *FAR_APART[seed % len(FAR_APART)])
    prices = rng.choice(drawn_from, d).tolist()
    model = cf.CostModel.of({
        "features": {name: {"cost": prices[i], "needs": needs[i]} for i, name in enumerate(names)},
        "resources": {"visit": 0.7, "draw": {"cost": float(rng.choice(drawn_from)), "needs": ["visit"]}, "scan": 4.0},
    })  # fmt: skip
    read = np.sort(rng.permutation(d)[: max(1, int(0.8 * d))])
    n = len(read)
    sets = np.vstack([np.eye(n, dtype=np.bool_), rng.random((8, n)) < 2 / n])
    some, every = np.split(to_grid(np.where(rng.random(2 * len(sets)) < 0.7, rng.random(2 * len(sets)), 0.0)), 2)
    losses = SetLosses.untried(AbsenceLosses(float(rng.random()), sets, some, every))
    barred = frozenset(np.flatnonzero(rng.random(d) < 0.2).tolist())
    had = frozenset(np.flatnonzero(rng.random(d) < 0.1).tolist())
    arrays = model.select(names)
    paid = frozenset(arrays.direct_needs.of_features(had))
    left = [f for f in range(d) if f not in barred | had]
    most = arrays.exact().money(price_exactly(arrays.exact(), arrays.direct_needs, left, paid))
    cap = min(round(float(rng.random()) * most, 2), most)
    return model, np.arange(d), read, losses, Limits(cap, barred), (had, paid)


@given(st.integers(2, 9), st.integers(0, 10_000))
def test_the_cap_pays_for_the_set_of_least_expected_loss(d, seed):
    model, used, read, losses, limits, paid = draw_case(d, seed)
    prices = model.select([f"f{i}" for i in used])
    exact, left = prices.exact(), [f for f in used.tolist() if f not in limits.barred | paid[0]]
    within = int(exact.limit(limits.cap))

    def price(features):
        return price_exactly(exact, prices.direct_needs, features, paid[1])

    gone = left_out(used, read, losses, prices, limits, paid)
    kept = [f for f in left if f not in gone]
    assert gone <= {*left}
    assert price(kept) <= within
    assert all(price([*kept, f]) > price(kept) for f in gone)  # what costs nothing more is there

    def lost(features):
        there = np.isin(read, [*features, *paid[0] - limits.barred])
        return losses.absence.of(there[None])[0]

    every = [[f for i, f in enumerate(left) if bits >> i & 1] for bits in range(1 << len(left))]
    rounding = len(left) * 4 << max(0, price(left).bit_length() - 53)  # of prices that add up to more than doubles hold
    rounding = 0 if price(left) < 2**53 else rounding
    assert lost(kept) <= min([lost(each) for each in every if price(each) + rounding <= within], default=np.inf) + 1e-12


@pytest.mark.parametrize("d", [14, 40, 90])
def test_of_many_features_none_that_the_cap_cannot_pay_for_is_kept(d):
    for seed in range(20):
        model, used, read, losses, limits, paid = draw_case(d, seed)
        prices = model.select([f"f{i}" for i in used])
        gone = left_out(used, read, losses, prices, limits, paid)
        kept = [f for f in used.tolist() if f not in gone | limits.barred | paid[0]]
        assert price_exactly(prices.exact(), prices.direct_needs, kept, paid[1]) <= prices.exact().limit(limits.cap)


SCRIPT = """
for (const { prices, tree, spare, row } of JSON.parse(require("fs").readFileSync(0))) {
  const rows = { own: { tree }, spare: { tree: spare }, prices: new Prices(prices) };
  const known = new Map(row.known.map((f) => [f, NaN]));
  const barred = new Set(row.barred), resources = new Set(row.resources);
  console.log(JSON.stringify(SparedRows.prototype.leftOut.call(rows, { known, barred, resources, cap: row.cap })));
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_pages_find_the_same():
    cases, expected = [], []
    for d in (3, 9, 14, 40, 90):
        for seed in range(60):
            model, used, read, losses, limits, (had, paid) = draw_case(d, seed)
            names = [f"f{i}" for i in used]
            found = left_out(used, read, losses, model.select(names), limits, (had, paid))
            expected.append(sorted(found))
            cases.append({
                "prices": describe_prices(model.select(names))["prices"],
                "tree": {"plain": {"used": used.tolist()}},
                "spare": {"plain": {"used": read.tolist()}, "losses": describe_losses(losses.absence)},
                "row": {
                    "known": sorted(had - limits.barred), "barred": sorted(limits.barred),
                    "resources": sorted(paid), "cap": limits.cap,
                },
            })  # fmt: skip
    scripts = [
        (STATIC / name).read_text(encoding="utf-8") for name in ("exact.js", "rounds.js", "choice.js", "spared.js")
    ]
    done = subprocess.run(  # noqa: S603 - our own
        [shutil.which("node"), "-e", "\n".join([*scripts, SCRIPT])],
        input=json.dumps(cases), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected
