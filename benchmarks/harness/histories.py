"""Tables whose tests are all known, and histories: who chose, and by what, the rows in which each test was made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

import costframe as cf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Labels = NDArray[np.int64]

NHANES = Path(__file__).resolve().parents[3] / "shared/data/nhanes/data.parquet"
# Log odds that a test is made: for each standard deviation of the recorded risk, for the label, for each standard
# deviation of the test's main column.
HISTORIES = {
    "chance": (0.0, 0.0, 0.0),
    "risk": (2.0, 0.0, 0.0),
    "suspicion": (1.0, 3.0, 0.0),
    "value": (1.0, 0.0, 2.0),
    "healthy": (-1.5, -2.0, 0.0),
}
_RISKS = 6_000  # rows that tell the recorded risk, and nothing else
_RESULT = 1.5  # log odds for each standard deviation of the result of the test before


@frozen(eq=False)
class KnownTable:
    """Rows with the results of all tests.

    Attributes
    ----------
    X : float64 (n, d)
    y : (n,)
        0 or 1.
    names : tuple of str (d,)
    panels : dict
        Of each test: its columns, the main one first, and the share of rows in which it is made.
    prices : dict
        As for `CostModel.of`, with what is absent.
    errors : dict
        Prices of errors.
    in_turn : bool
        Whether each test is made only where the one before was, and had a high result.
    """

    X: Floats
    y: Labels
    names: tuple[str, ...]
    panels: dict[str, tuple[tuple[str, ...], float]]
    prices: dict[str, Any]
    errors: dict[int, dict[int, float]]
    in_turn: bool = False

    @property
    def tested(self) -> list[list[int]]:
        """The numbers of the columns of each test."""
        return [[self.names.index(name) for name in names] for names, _ in self.panels.values()]

    def fewest_donors(self, made: NDArray[np.bool_]) -> int:
        """Return the rows of the class with the fewest in which the rarest test was made, of the first ones, (n, T)."""
        y = self.y[: len(made)]
        return min(int(made[y == label].sum(axis=0).min()) for label in (0, 1))

    @property
    def free(self) -> list[int]:
        """The numbers of the columns that are always there."""
        return sorted(set(range(len(self.names))) - {column for test in self.tested for column in test})

    def costs(self, *, errors: bool) -> cf.CostModel:
        """Return the prices, with or without those of errors."""
        return cf.CostModel.of(self.prices, errors=self.errors if errors else None)

    def record(self, history: str, rng: Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the rows as a history leaves them, NaN where tests were not made, and which were made, (n, T).

        The last rows tell the recorded risk; who reads the result leaves them out.
        """
        by_risk, by_label, by_value = HISTORIES[history]
        risk = _recorded_risk(self.X[:, self.free], self.y)
        made, before = np.ones((len(self.X), len(self.panels)), np.bool_), np.ones(len(self.X), np.bool_)
        X, result = self.X.copy(), np.zeros(len(self.X))
        for test, (columns, (_, share)) in enumerate(zip(self.tested, self.panels.values(), strict=True)):
            value = _standard(self.X[:, columns[0]])
            look = by_risk * risk + by_label * (self.y - self.y.mean()) + by_value * value + result
            made[:, test] = before & (rng.random(len(X)) < expit(look + _intercept(look[before], share)))
            if self.in_turn:
                before, result = made[:, test], _RESULT * value
            X[np.ix_(~made[:, test], columns)] = np.nan
        return X, made


def _recorded_risk(free: Floats, y: Labels) -> Floats:
    """Return what the free columns tell of the label, in standard deviations: (n,)."""
    model = HistGradientBoostingClassifier(max_leaf_nodes=15, max_iter=80, learning_rate=0.08, random_state=0)
    return _standard(model.fit(free[-_RISKS:], y[-_RISKS:]).decision_function(free))


def _standard(values: Floats) -> Floats:
    return (values - values.mean()) / values.std()


def _intercept(look: Floats, share: float) -> float:
    """Return what to add to log odds so that their mean chance is a share."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + look).mean() < share else (low, middle)
    return low


def nhanes(rng: Generator, rows: int) -> KnownTable:
    """Draw rows of nhanes in which blood is known; blood is made for 30 %."""
    import pandas as pd

    blood = ("glucose", "TC", "HDL")
    free = (
        *("gender", "age", "ethnicity", "education", "born_USA", "ever_hypertension", "famhist_T2D"),
        *("ever_heartfailure", "ever_chd", "ever_heartattack", "ever_stroke", "active", "waist", "BMI", "height"),
    )
    table = pd.read_parquet(NHANES).dropna(subset=list(blood))
    table = table.iloc[rng.permutation(len(table))[:rows]]
    prices = {
        "features": dict.fromkeys(free, 0.0) | {name: {"cost": 0.2, "needs": ["blood"]} for name in blood},
        "resources": {"blood": {"cost": 1.0, "absent": "not made"}},
    }
    X, y = table[[*free, *blood]].to_numpy(np.float64), table.label.to_numpy(np.int64)
    return KnownTable(X, y, (*free, *blood), {"blood": (blood, 0.3)}, prices, {0: {1: 40.0}, 1: {0: 250.0}})


def hospital(rng: Generator, rows: int) -> KnownTable:
    """Draw patients: free columns, four labs of one blood sample, a scan and a specialist, who see a severity."""
    free, severity = rng.normal(size=(rows, 6)), rng.normal(size=rows)
    free[:, :2] = 0.5 * severity[:, np.newaxis] + free[:, :2]
    labs = np.outer(severity, [0.9, 0.6, 0.3, 0.0]) + rng.normal(size=(rows, 4))
    scan = severity + 0.3 * labs[:, 0] + 0.8 * rng.normal(size=rows)
    specialist = severity + 0.5 * free[:, 2] + 0.5 * rng.normal(size=rows)
    z = 1.3 * severity + 0.6 * free[:, 0] + 0.5 * free[:, 2] + 0.8 * (labs[:, 1] > 1) * (free[:, 3] > 0) - 2.0
    panels = {
        "blood": (tuple(f"lab{i}" for i in range(4)), 0.5),
        "scan": (("scan",), 0.3),
        "specialist": (("specialist",), 0.2),
    }
    names = (*(f"free{i}" for i in range(6)), *(name for columns, _ in panels.values() for name in columns))
    prices = {
        "features": dict.fromkeys(names[:6], 0.0)
        | {name: {"cost": 0.05, "needs": ["blood"]} for name in panels["blood"][0]}
        | {"scan": {"cost": 0.8, "absent": "not made"}, "specialist": {"cost": 1.2, "absent": "not made"}},
        "resources": {"blood": {"cost": 0.4, "absent": "not made"}},
    }
    y = (rng.random(rows) < expit(z)).astype(np.int64)
    X = np.column_stack([free, labs, scan, specialist])
    return KnownTable(X, y, names, panels, prices, {0: {1: 60.0}, 1: {0: 240.0}})


def in_turn(rng: Generator, rows: int) -> KnownTable:
    """Draw cases with three tests, each of which sees more than the one before and follows on a high result of it."""
    free, latent = rng.normal(size=(rows, 5)), rng.normal(size=rows)
    tests = [latent + noise * rng.normal(size=rows) for noise in (1.2, 0.7, 0.3)]
    z = 1.5 * latent + free @ [0.6, 0.4, 0.3, 0.2, 0.0] + 0.5 * latent * (free[:, 0] > 0) - 1.8
    names = (*(f"free{i}" for i in range(5)), "quick", "lab", "expert")
    panels = {"quick": (("quick",), 0.7), "lab": (("lab",), 0.6), "expert": (("expert",), 0.6)}
    priced = dict(zip(panels, (1.0, 2.5, 5.0), strict=True))
    prices = {
        "features": dict.fromkeys(names[:5], 0.0)
        | {name: {"cost": price, "absent": "not made"} for name, price in priced.items()}
    }
    y = (rng.random(rows) < expit(z)).astype(np.int64)
    X = np.column_stack([free, *tests])
    return KnownTable(X, y, names, panels, prices, {0: {1: 50.0}, 1: {0: 200.0}}, in_turn=True)


TABLES: dict[str, Callable[[Generator, int], KnownTable]] = {
    "nhanes": nhanes,
    "hospital": hospital,
    "in-turn": in_turn,
}
