"""What broken plugins are made of: the honest example plugin, and a list of what catches which."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "costframe-stumps"))

from costframe_stumps import costframe_algorithms
from costframe_stumps.estimators import StumpsClassifier, StumpsRegressor

from costframe.hooks import Algorithm

__all__ = ["BROKEN", "HONEST", "StumpsClassifier", "StumpsRegressor", "breaks", "named"]

(HONEST,) = costframe_algorithms()
BROKEN = []  # (algorithm, law that it breaks, words of the law's complaint)


def breaks(**laws):
    """Make an algorithm of a class, and say which laws must catch it, and what they must say."""

    def register(kind):
        role = "classifier" if issubclass(kind, StumpsClassifier) else "regressor"
        algorithm = Algorithm(kind.__name__.removesuffix("Regressor"), "A broken plugin", "none", **{role: kind})
        BROKEN.extend((algorithm, law, words) for law, words in laws.items())
        return kind

    return register


def named(name, kind):
    """Give a class made in a function a name, by which pickle finds it."""
    kind.__module__ = __name__
    kind.__name__ = kind.__qualname__ = f"{name}Regressor"
    globals()[kind.__name__] = kind
    return kind
