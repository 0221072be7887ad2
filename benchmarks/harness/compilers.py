"""Compilers of trees from PyPI: functions that predict as a LightGBM model does, each if its package is installed."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import lightgbm as lgb
    import numpy as np


def compiled(booster: lgb.Booster) -> Iterator[tuple[str, Callable[[np.ndarray, int], Any]]]:
    """Yield names, and functions of rows and threads, whose libraries are there until the next one is taken."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.txt"
        booster.save_model(file)
        with contextlib.suppress(ImportError, AttributeError):  # lleaves 1.3 needs an llvmlite before 0.45
            import lleaves

            model = lleaves.Model(model_file=str(file))
            model.compile()
            yield "lleaves", lambda rows, threads: model.predict(rows, n_jobs=threads)
        with contextlib.suppress(ImportError):
            import tl2cgen
            import treelite

            library, trees = f"{folder}/model.so", treelite.frontend.load_lightgbm_model(str(file))
            tl2cgen.export_lib(trees, toolchain="gcc", libpath=library, params={"parallel_comp": 2})
            own = {threads: tl2cgen.Predictor(library, nthread=threads) for threads in (1, 2)}
            yield "tl2cgen", lambda rows, threads: own[threads].predict(tl2cgen.DMatrix(rows, dtype="float64")).ravel()
