"""Drawn frames of dark spots, seen at several scales: features cost comparisons only, coarse ones a fraction of one."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

import costframe as cf
from costframe.core.prices.costs import FeaturePrice
from costframe.datasets import Dataset

SIDE, FRAMES = 48, {"train": 10, "valid": 6, "test": 12}
SPOTS, SCRATCHES = 6, 5
SCALES = (1, 2, 4, 8)  # pixels along a block; a coarse value serves a whole block
FILTERS = {
    "mean": lambda frame: frame,
    "smooth": lambda frame: ndimage.gaussian_filter(frame, 1.0),
    "edge": lambda frame: ndimage.gaussian_gradient_magnitude(frame, 1.0),
    "blob": lambda frame: ndimage.gaussian_laplace(frame, 1.5),
}


def draw_scales(seed: int) -> Dataset:
    """Draw frames; a row is a pixel, its label whether it lies in a spot, a frame belongs to one part.

    A comparison with a feature of blocks of m pixels costs 1 / m, because one comparison decides for the whole block.
    """
    random = np.random.default_rng([seed, 2017])
    parts = np.repeat(list(FRAMES), list(FRAMES.values()))
    drawn = [_draw_frame(random) for _ in parts]
    X = np.concatenate([_features(frame) for frame, _ in drawn])
    y = np.concatenate([spot.ravel() for _, spot in drawn]).astype(np.int64)
    prices = tuple(FeaturePrice(f"{kind} {m}x{m}", split=1 / m**2) for m in SCALES for kind in FILTERS)
    split = np.repeat(parts, SIDE**2)
    names = [price.name for price in prices]
    costs = cf.CostModel(prices, unit="comparisons a pixel")
    return Dataset.from_arrays(X, y, costs, feature_names=names, split=split, name="scales")


def _draw_frame(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return grey values and spots: float64 and bool (SIDE, SIDE)."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    light = ndimage.gaussian_filter(random.standard_normal((SIDE, SIDE)), 12.0)
    frame = 0.6 * light / light.std() + 0.35 * random.standard_normal((SIDE, SIDE))
    spots = np.zeros((SIDE, SIDE), bool)
    for _ in range(SPOTS):
        centre, angle = random.uniform(3, SIDE - 3, 2), random.uniform(0, np.pi)
        along = (rows - centre[0]) * np.cos(angle) + (columns - centre[1]) * np.sin(angle)
        across = (columns - centre[1]) * np.cos(angle) - (rows - centre[0]) * np.sin(angle)
        spots |= (along / 4.5) ** 2 + (across / 2.5) ** 2 <= 1
    for _ in range(SCRATCHES):  # thin and dark, but no spots
        start, angle = random.uniform(0, SIDE, 2), random.uniform(0, np.pi)
        off = np.abs((rows - start[0]) * np.sin(angle) - (columns - start[1]) * np.cos(angle))
        frame -= 1.6 * (off < 0.6)
    return frame - 1.8 * spots, spots


def _features(frame: np.ndarray) -> np.ndarray:
    """Return the filters of each scale, repeated for the pixels of a block: float64 (pixels, features)."""
    columns = []
    for m in SCALES:
        blocks = frame.reshape(SIDE // m, m, SIDE // m, m).mean(axis=(1, 3))
        columns += [np.kron(kind(blocks), np.ones((m, m))).ravel() for kind in FILTERS.values()]
    return np.stack(columns, axis=1)
