"""Turns scores fitted to labels by least squares into log odds: a slope and constants, which an answer can carry."""

from __future__ import annotations

import numpy as np
from attrs import evolve
from scipy.special import log_softmax, softmax

from costframe.core.arrays import F8, I8
from costframe.stagewise.bank_rows import as_counts
from costframe.stagewise.evaluation import Evaluation
from costframe.stagewise.flow import Flow
from costframe.stagewise.soft_tree import SoftTree
from costframe.training.blas import minimize_smooth
from costframe.training.linear_fit import fit_near
from costframe.training.losses import LogisticLoss, SquaredLoss

_PRIOR_ROWS = 1.0
_LEAST = 1e-15  # of the share of a class


def calibrate(scores: F8, codes: I8, weight: F8) -> tuple[float, F8]:
    """Return the slope a >= 0 and constants b that minimize the cross-entropy of softmax(a s + b).

    As in Platt's method, one more row, shared by all classes, softens the labels: perfect scores then have a finite
    slope.

    Parameters
    ----------
    scores : float64 (n, K)
    codes : int64 (n,)
        Classes 0..K-1.
    weight : float64 (n,)
        Of rows, counted.
    """
    n_classes, rows = scores.shape[1], float(weight.sum())
    w, soft = weight / rows, (np.eye(n_classes)[codes] * rows + 1 / n_classes) / (rows + 1)
    spread = float(scores.std()) or 1.0

    def loss(free: F8) -> tuple[float, F8]:
        power = free[0] / spread * scores + free[1:]
        wrong = w[:, np.newaxis] * (softmax(power, axis=1) - soft)
        value = -(w[:, np.newaxis] * soft * log_softmax(power, axis=1)).sum()
        return float(value), np.append((wrong * scores).sum() / spread, wrong.sum(axis=0))

    start = np.concatenate([[1.0], np.zeros(n_classes)])
    bounds = [(0.0, None)] + [(None, None)] * n_classes
    scaled = minimize_smooth(loss, start, {"gtol": 1e-9, "ftol": 1e-14}, bounds=bounds).x
    return float(scaled[0] / spread), np.asarray(scaled[1:] - scaled[1:].mean())


def calibrate_tree(tree: SoftTree, held_out: Evaluation) -> SoftTree:
    """Calibrate answers on held-out rows by cross-entropy, with one slope and constants for all exits.

    Answers fitted by squares are not log odds, and a bank's answers on its training rows are too sure. Labels are
    softened, so log odds stay unchanged where they are better.
    """
    rows = held_out.rows
    scores = np.einsum("ik,ikm->im", held_out.flow(tree).exits, tree.scores(rows))
    weight = as_counts(rows.weight)
    constants: F8
    if scores.shape[1] == 1:
        slope, constant = calibrate_two(scores[:, 0], (rows.target[:, 0] > 0).astype(np.int64), weight)
        constants = np.array([constant])
    else:
        slope, constants = calibrate(scores, rows.target.argmax(axis=1), weight)
    calibrated = evolve(tree, calibration=np.tile(np.append(slope, constants), (len(tree), 1)))
    if isinstance(held_out.loss, SquaredLoss) or held_out.measure(calibrated).loss <= held_out.measure(tree).loss:
        return calibrated
    return tree


def calibrate_exits(tree: SoftTree, held_out: Evaluation, among: F8) -> SoftTree:
    """Calibrate each node's answer for two classes on weighted rows, (n, K), with one calibration for all as prior."""
    weight = as_counts(held_out.rows.weight)[:, np.newaxis] * among
    score = tree.scores(held_out.rows)[:, :, 0]
    codes = (held_out.rows.target[:, 0] > 0).astype(np.int64)
    usual = calibrate_two(score.ravel(), np.repeat(codes, score.shape[1]), weight.ravel())
    links = [calibrate_two(s, codes, w, usual) for s, w in zip(score.T, weight.T, strict=True)]
    return evolve(tree, calibration=np.array(links))


def calibrate_at_exits(rows: Evaluation, tree: SoftTree, steepness: float) -> SoftTree:
    """Calibrate the answers for classes on the rows that leave at each stage, by soft routing."""
    return _calibrated(rows, tree, _soft_flow(rows, tree, steepness).exits)


def place_thresholds(rows: Evaluation, tree: SoftTree, steepness: float) -> SoftTree:
    """Place thresholds, with answers for classes calibrated on the rows that reach each stage by soft routing."""
    return rows.place_thresholds(_calibrated(rows, tree, _soft_flow(rows, tree, steepness).passes))


def _calibrated(rows: Evaluation, tree: SoftTree, among: F8) -> SoftTree:
    return calibrate_exits(tree, rows, among) if isinstance(rows.loss, LogisticLoss) else tree


def _soft_flow(rows: Evaluation, tree: SoftTree, steepness: float) -> Flow:
    return Flow.of(tree.topology, rows.routing(tree), tree.threshold, steepness)


def calibrate_two(score: F8, codes: I8, weight: F8, prior: tuple[float, float] | None = None) -> tuple[float, float]:
    """Return the slope a >= 0 and the constant b that minimize the cross-entropy of sigmoid(a s + b).

    It softens labels as `calibrate` does, and uses Newton's method. A prior slope and constant count as one row: with
    few rows the result stays near them.

    Parameters
    ----------
    score : float64 (n,)
    codes : int64 (n,)
        Classes 0 and 1.
    weight : float64 (n,)
        Of rows, counted. Not all zero, unless there is a prior.
    prior : (float, float), optional
    """
    rows = float(weight.sum())
    if prior is not None and not rows > 0:
        return prior
    w, soft = weight / rows, np.asarray((codes * rows + 0.5) / (rows + 1.0), np.float64)
    mean = float(w @ score)
    spread = float(np.sqrt(w @ np.square(score - mean)))
    share = float(np.clip(w @ soft, _LEAST, 1.0 - _LEAST))
    flat = float(np.log(share) - np.log1p(-share))
    if not spread > 1e-12 * abs(mean):
        if prior is None:
            return 0.0, flat
        spread = 1.0
    inputs = np.stack([(score - mean) / spread, np.ones(len(score))])
    slope, constant = (0.0, flat) if prior is None else (prior[0] * spread, prior[1] + prior[0] * mean)
    strength = 0.0 if prior is None else _PRIOR_ROWS / rows
    at = fit_near(inputs, soft, w, np.array([slope, constant]), strength)
    if at[0] <= 0:
        return 0.0, flat if prior is None else float(at[1])
    return float(at[0] / spread), float(at[1] - at[0] * mean / spread)
