"""Fits on dask collections: each worker of the cluster, or this process alone, trains on the partitions it holds."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from attrs import frozen

from costframe.core.errors import CostframeError, DataError, ParameterError, WorkersError, shown
from costframe.core.tables.frames import is_dask
from costframe.training.cluster.alone import fit_alone
from costframe.training.cluster.partitions import Partitions, keep_queries_together, load_partitions
from costframe.training.cluster.running import LostWorkerError, run_workers

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["cluster_timeout", "fit_on_cluster"]

_SECONDS = 300.0


def fit_on_cluster(estimator: Any, client: Any, train: Mapping[str, Any], valid: Mapping[str, Any]) -> None:
    """Fit an estimator on the workers of a dask cluster that hold the rows, without a client in this process.

    The model is that of one machine with all rows. A worker that is lost is replaced once by the others, which load its
    partitions again.

    Parameters
    ----------
    estimator : CostAwareEstimator
        Gets the attributes of the fit.
    client : distributed.Client, optional
        By default the current one, if there is one.
    train : mapping of str to table or column
        X, y and other arguments of `fit` with a value for each row of X; None where it has none.
    valid : mapping of str to table or column
        X_val, y_val and others likewise.

    Raises
    ------
    CostframeError
        As of `fit`; also if the algorithm does not train together, or workers are lost.
    """
    estimator.check_trains_together()
    if not is_dask(train["X"]):
        kind = type(train["X"]).__name__
        raise DataError(f"client: has no effect on rows in memory, got X of type {kind}; give dask collections")
    if valid["X_val"] is None or valid["y_val"] is None:
        estimator._validation(*valid.values())  # noqa: SLF001 - refuses all but None
    own = estimator.get_params(deep=False)
    if (client := _checked(client)) is None:
        fitted = fit_alone(_blank(estimator), train, valid)
        vars(estimator).update({name: value for name, value in fitted.items() if name not in own})
        return
    fit = _Fit(estimator, client, cluster_timeout(), train, None if valid["X_val"] is None else valid)
    try:
        fitted = fit.run_again_if_lost()
    except CostframeError:
        raise
    except Exception as error:
        if fit.client.status == "running":
            raise
        raise WorkersError(f"client: was closed, or lost its scheduler, in the fit: {error}") from error
    vars(estimator).update({name: value for name, value in fitted.items() if name not in own})


def _blank(estimator: Any) -> Any:
    """Return a copy of an estimator that is not fitted."""
    blank = copy(estimator)
    vars(blank).clear()
    vars(blank).update(estimator.get_params(deep=False))
    return blank if estimator._only is None else blank.reading_only(estimator._only)  # noqa: SLF001 - the estimator's own package


@frozen
class _Fit:
    estimator: Any
    client: Any
    seconds: float
    train: Mapping[str, Any]
    valid: Mapping[str, Any] | None

    def run_again_if_lost(self) -> dict[str, Any]:
        """Return the attributes of the fitted estimator; if a worker is lost, the others try once more."""
        try:
            return self.run()
        except LostWorkerError:
            return self.run()

    def run(self) -> dict[str, Any]:
        """Load the partitions, train, and return the attributes of the fitted estimator."""
        train = self._load(self.train, "")
        valid = None if self.valid is None else self._load(self.valid, "_val")
        return run_workers(self.client, _blank(self.estimator), train, valid, self.seconds)

    def _load(self, given: Mapping[str, Any], suffix: str) -> Partitions:
        loaded = load_partitions(self.client, given, f"X{suffix}")
        qid = f"qid{suffix}"
        if qid not in loaded.empty:
            return loaded
        return keep_queries_together(self.client, loaded, qid, max(len(self.client.nthreads()), 1))


def _checked(client: Any) -> Any:
    """Return the client of the cluster, by default the current one, None if there is none."""
    try:
        import distributed
        import xgboost  # noqa: F401 - carries the bytes between the workers
    except ImportError as error:
        raise ParameterError(f"X: dask collections need the extra costframe[dask]: {error}") from error
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            return None
        if client.status != "running":  # one that is closing is still the current one
            return None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise ParameterError(f"client: expected a distributed.Client that is not asynchronous, got {shown(client)}")
    return client


def cluster_timeout() -> float:
    """Return the seconds after which a silent worker is lost, `costframe.timeout` in dask's configuration."""
    import dask

    given = dask.config.get("costframe.timeout", _SECONDS)
    try:
        seconds = float(dask.utils.parse_timedelta(given))
    except (AttributeError, KeyError, TypeError, ValueError):
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise ParameterError(
            f"costframe.timeout: expected a time as '300s' in dask's configuration, got {shown(given)}"
        )
    return seconds
