"""Data sets without a file: breast cancer, and drawn ones.

`make_coast` and `make_islands` draw those of the paper on adaptive approximation (Nan and Saligrama, NIPS 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.datasets.dataset import Dataset
from costframe.datasets.parts import PARTS

# Minutes of a pathologist's time to measure a sample's nuclei. The prices are ours, for illustration: reading off a
# size is quick, tracing concavities is not. Compactness is perimeter^2 / area - 1, so it needs these two only.
_MINUTES: dict[str, float | tuple[float, tuple[str, ...]]] = {
    "radius": 2.0,
    "texture": 3.0,
    "perimeter": 2.5,
    "area": 2.5,
    "smoothness": 5.0,
    "compactness": (0.5, ("perimeter", "area")),
    "concavity": 8.0,
    "concave points": 6.0,
    "symmetry": 4.0,
    "fractal dimension": 10.0,
}


def breast_cancer() -> Dataset:
    """Return 569 samples of breast tissue, malignant or benign, with thirty features of ten cell measurements.

    The table is scikit-learn's copy of the UCI data set. Each measurement is a resource, whose mean, standard error and
    worst value have no further cost. The prices are illustrative: minutes of a pathologist's time.
    Rows are split by seed 0, 60/20/20.
    """
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    names = tuple(str(name) for name in table.feature_names)
    labels = np.asarray(table.target_names, np.str_)[table.target]
    return Dataset.from_arrays(
        table.data, labels, _costs(names), feature_names=names, name="breast-cancer", task="classification", seed=0
    )


def _costs(names: tuple[str, ...]) -> CostModel:
    resources = []
    for name, price in _MINUTES.items():
        cost, needs = price if isinstance(price, tuple) else (price, ())
        resources.append(ResourcePrice(name, cost, needs))
    features = tuple(FeaturePrice(name, 0.0, (_measurement(name),)) for name in names)
    return CostModel(features, tuple(resources), unit="minutes")


def _measurement(feature: str) -> str:
    """Return the measurement of a feature such as "mean radius" or "radius error"."""
    return feature.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")


_PARITY = {"sign_a": 2.0, "sign_b": 3.0}
_NOISE_PRICE = 1.0
_SELECTOR_PRICE = 1.0
_EXPECTED = f"two or more finite prices, none below the selector's {_SELECTOR_PRICE:g}"
_QUADRANTS = {"sign_x": 1.0, "sign_z": 1.0, "y_pp": 10.0, "y_pm": 10.0, "y_mp": 10.0, "y_mm": 10.0}
_WEST = np.array([-2.0, -1.0, 1.0])  # where sea, coast and land begin
_EAST = np.array([-1.0, 1.0, 2.0])
_GAP = 0.1
_CENTERS = np.array([[0.0, 1.9], [1.0, 1.9], [1.0, 0.9], [1.0, 0.0]])
_LABELS = np.array([-1, 1, -1, 1])
_DEVIATION = 0.1


def make_parity(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    n_noise: int = 6,
    random_state: int | None = 0,
) -> Dataset:
    """Draw a classification whose label is the exclusive or of two signs, among cheaper signs that are noise.

    All features are -1 or 1 with probability 1/2, independent of each other. The label is 1 where sign_a and sign_b
    differ, else 0. The feature sign_a costs 2, sign_b costs 3, and each of noise_0, noise_1, ... costs 1.

    A set of features without sign_a or sign_b is independent of the label; both together give it exactly. So a perfect
    model pays 5 per row (`perfect_cost`), and a model that pays less for a row guesses its label.

    Parameters
    ----------
    n_rows : int
        Training rows; at least one, as in the other parts.
    n_valid, n_test : int, optional
        Rows of the other parts; None means `n_rows`. No part depends on the size of another.
    n_noise : int
        Number of noise features, zero or more.
    random_state : int or None
        Equal seeds give equal bytes; None draws other rows each time.

    Returns
    -------
    Dataset
        X float64 (n, 2 + n_noise) and y int64 (n,), 0 or 1: the rows of train, then of valid, then of test.

    Raises
    ------
    ParameterError
        If a number of rows or features, or the seed, is not a whole number in its range.
    DataError
        If a class has no training row.
    """
    n_features = len(_PARITY) + int(check_number("n_noise", n_noise, low=0, whole=True))
    prices = _PARITY | {f"noise_{i}": _NOISE_PRICE for i in range(n_features - len(_PARITY))}

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        signs = rng.choice([-1.0, 1.0], (n, n_features))
        return signs, (signs[:, 0] != signs[:, 1]).astype(np.int64)

    sizes, perfect = (n_rows, n_valid, n_test), sum(_PARITY.values())
    return _draw_parts(draw, prices, sizes, random_state, "classification", "parity", perfect_cost=perfect)


def make_selector(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    prices: Sequence[float] = (10.0, 10.0, 10.0, 10.0),
    block_size: int = 1,
    random_state: int | None = 0,
) -> Dataset:
    """Draw a classification with a cheap feature, independent of the label, that selects the block with the label.

    The feature selector is the number of a block, 0 to len(prices) - 1, each with the same probability; it costs 1.
    Block b has the features block{b}_0, block{b}_1, ... They are -1 or 1 with probability 1/2, independent of each
    other and of the selector, and each costs prices[b]. The label is the number whose binary digits, the lowest first,
    are the features of the selected block, with -1 for 0; so it is 0 or 1 for blocks of one feature.

    The selector alone is independent of the label, and a block that may not be the selected one says little about it.
    But the selector and its block give the label exactly, so a perfect model pays 1 + block_size * mean(prices) per row
    (`perfect_cost`): 11 of 41 by default, 19.75 of 76 at the prices 5, 10, 20, 40 (data set `selector-unequal`).
    It is akin to CUBE-NM of AFABench (arXiv 2508.14734), without noise; `make_quadrants` is a regression of this kind.

    Parameters
    ----------
    prices : sequence of float (blocks,)
        Price of each feature of a block, for two or more blocks; at least the selector's.
    block_size : int
        Features of a block, 1 to 8; there are 2**block_size classes.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 1 + blocks * block_size) and y int64 (n,): the rows of train, then of valid, then of test.
    """
    by_block = _check_prices(prices)
    size = int(check_number("block_size", block_size, low=1, high=8, whole=True))
    named = {"selector": _SELECTOR_PRICE} | {
        f"block{block}_{i}": float(price) for block, price in enumerate(by_block) for i in range(size)
    }

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        selected = rng.integers(len(by_block), size=n)
        signs = rng.choice([-1.0, 1.0], (n, len(by_block), size))
        digits = signs[np.arange(n), selected] > 0
        return np.column_stack([selected, signs.reshape(n, -1)]), digits @ (1 << np.arange(size))

    sizes, perfect = (n_rows, n_valid, n_test), _SELECTOR_PRICE + size * float(by_block.mean())
    name = "selector" if np.ptp(by_block) == 0 else "selector-unequal"
    return _draw_parts(draw, named, sizes, random_state, "classification", name, perfect_cost=perfect)


def _check_prices(given: Any) -> F8:
    prices = _check_numbers("prices", given, None, _EXPECTED)
    if len(prices) < 2 or prices.min() < _SELECTOR_PRICE:
        raise ParameterError(f"prices: expected {_EXPECTED}, got {shown(given)}")
    return prices


def make_quadrants(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    means: Sequence[float] = (3.0, 1.0, -1.0, -3.0),
    random_state: int | None = 0,
) -> Dataset:
    """Draw a regression whose perfect model pays 12 of 42 per row (Xu et al., ICML 2013, section 5.1).

    Points (x, z) are uniform on [-1, 1]². The features sign_x and sign_z, -1 or 1, cost 1 each. The features y_pp,
    y_pm, y_mp and y_mm cost 10 each; the first letter is the sign of x, the second that of z, p for plus and m for
    minus. Each is drawn from the normal distribution of its quadrant's mean and variance 1, in all rows, and the label
    is that of the row's own quadrant. So both signs and one expensive feature give the label exactly; the other three
    are independent of it.

    Parameters
    ----------
    means : sequence of float (4,)
        Mean label of the quadrants pp, pm, mp, mm.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 6) and y float64 (n,): the rows of train, then of valid, then of test.
    """
    centers = _check_numbers("means", means, 4, "four finite numbers, for the quadrants pp, pm, mp, mm")

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, F8]:
        signs = np.where(rng.uniform(-1.0, 1.0, (n, 2)) < 0, -1.0, 1.0)
        labels = rng.normal(centers, size=(n, 4))
        quadrant = 2 * (signs[:, 0] < 0) + (signs[:, 1] < 0)
        return np.hstack([signs, labels]), labels[np.arange(n), quadrant]

    sizes = (n_rows, n_valid, n_test)
    return _draw_parts(draw, _QUADRANTS, sizes, random_state, "regression", "quadrants", perfect_cost=12.0)


def make_coast(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    shares: Sequence[float] = (0.4, 0.45, 0.15),
    random_state: int | None = 0,
) -> Dataset:
    """Draw a table like Synthetic-1 of Nan and Saligrama (NIPS 2017, section 5): only the middle needs a strong model.

    A winding coast, x = cos(pi y), parts the sea in the west, label -1, from the land in the east, label 1. Three
    strips are uniform in x and in y from -2 to 2: open sea, x from -2 to -1; the coast, x from -1 to 1, where bays
    and headlands lie between each other; inner land, x from 1 to 2. Then each row is moved by .1 along x, away from
    the border. The features x and y cost 1 each. The paper has a picture only; the numbers and costs are ours.

    At the default shares an RBF-SVM (C = 10) is right for more than 99 % of the rows, logistic regression for 88 %.
    Beyond the coast, |x| > 1.1, the sign of x is the label. So these gates keep the accuracy of the SVM, and answer
    from x alone where they do not use it:

    - A gate that sends it the coast, 45 % of the rows, pays 1.45 on average.
    - A linear gate, which sends it all but the open sea, 60 % of the rows, pays 1.6.

    Parameters
    ----------
    shares : sequence of float (3,)
        Probability that a row is of the sea, the coast, the land; positive, summing to one.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 2) and y int64 (n,), -1 or 1: the rows of train, then of valid, then of test.
    """
    chances = _check_shares(shares, 3, "three positive numbers that sum to one, for the sea, the coast and the land")

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        strip = rng.choice(3, n, p=chances)
        x, y = rng.uniform(_WEST[strip], _EAST[strip]), rng.uniform(-2.0, 2.0, n)
        label = np.where(x > np.cos(np.pi * y), 1, -1)
        return np.column_stack([x + _GAP * label, y]), label

    sizes, prices = (n_rows, n_valid, n_test), {"x": 1.0, "y": 1.0}
    return _draw_parts(draw, prices, sizes, random_state, "classification", "synthetic-1")


def make_islands(
    n_rows: int = 2000,
    *,
    n_valid: int | None = None,
    n_test: int | None = None,
    shares: Sequence[float] = (0.26, 0.26, 0.24, 0.24),
    random_state: int | None = 0,
) -> Dataset:
    """Draw Synthetic-2 of Nan and Saligrama (NIPS 2017, section 5): four clusters in the plane, two classes.

    Clusters 1 to 4 are normal around (0, 1.9), (1, 1.9), (1, .9) and (1, 0), with standard deviation .1 in both
    features, x and y, which cost 1 each; their labels are -1, 1, -1, 1. The numbers are ours; the paper has a picture
    only.

    With shares p1 to p4, each of these errs (almost) never:

    - A model that reads both features pays 2.
    - A gate on y that sends clusters 1 and 2 to that model, and answers clusters 3 and 4 by y alone, pays 1 + p1 + p2:
      the best, 1.5 at equal shares.
    - A gate on x, the feature that l1-regularized logistic regression chooses when clusters 1 and 2 have more rows,
      answers cluster 1 alone by x and pays 2 - p1: 1.75 at equal shares.

    Parameters
    ----------
    shares : sequence of float (4,)
        Probability that a row is of cluster 1, 2, 3, 4; positive, summing to one.
    n_rows, n_valid, n_test, random_state
        As in `make_parity`.

    Returns
    -------
    Dataset
        X float64 (n, 2) and y int64 (n,), -1 or 1: the rows of train, then of valid, then of test.
    """
    chances = _check_shares(shares, 4, "four positive numbers that sum to one, for the clusters 1 to 4")

    def draw(n: int, rng: np.random.Generator) -> tuple[F8, I8]:
        cluster = rng.choice(4, n, p=chances)
        return rng.normal(_CENTERS[cluster], _DEVIATION), _LABELS[cluster]

    sizes, prices = (n_rows, n_valid, n_test), {"x": 1.0, "y": 1.0}
    return _draw_parts(draw, prices, sizes, random_state, "classification", "synthetic-2")


def _check_shares(given: Any, n: int, expected: str) -> F8:
    """Return n positive numbers that sum to one up to rounding."""
    shares = _check_numbers("shares", given, n, expected)
    if not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
        raise ParameterError(f"shares: expected {expected}, got {shown(given)}")
    return np.asarray(shares / shares.sum())


def _draw_parts(
    draw: Callable[[int, np.random.Generator], tuple[F8, NDArray[Any]]],
    prices: Mapping[str, float],
    sizes: tuple[int, int | None, int | None],
    random_state: int | None,
    task: str,
    name: str,
    *,
    perfect_cost: float | None = None,
) -> Dataset:
    """Draw train, valid and test by `draw`, (n, rng) -> X (n, d), y (n,); no part depends on the size of another.

    `prices` are in the order of X's columns; `sizes` are n_rows, n_valid and n_test, None for n_rows. None as
    `random_state` draws other rows each time.
    """
    given = dict(zip(("n_rows", "n_valid", "n_test"), sizes, strict=True))
    counts = [int(check_number(part, sizes[0] if n is None else n, low=1, whole=True)) for part, n in given.items()]
    if random_state is not None:
        check_number("random_state", random_state, whole=True)
    seeds = np.random.SeedSequence(random_state).spawn(len(PARTS))
    drawn = [draw(n, np.random.default_rng(seed)) for n, seed in zip(counts, seeds, strict=True)]
    return Dataset.from_arrays(
        np.concatenate([X for X, _ in drawn]),
        np.concatenate([y for _, y in drawn]),
        CostModel.from_dict({"features": dict(prices)}),
        feature_names=tuple(prices),
        split=np.repeat(PARTS, counts),
        task=task,
        name=name,
        perfect_cost=perfect_cost,
    )


def _check_numbers(name: str, given: Any, n: int | None, expected: str) -> F8:
    """Return n finite numbers, or any number of them; refuse other values with an error that names the `expected`."""
    try:
        values = np.array(given, np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or n not in {None, len(values)} or not np.isfinite(values).all():
        raise ParameterError(f"{name}: expected {expected}, got {shown(given)}")
    return values
