"""What the members of an ensemble predict, as terms: sums of their learners and blends of these, over common columns.

The columns are the raw ones and those that the steps of members make, if some are pipelines. What cannot be adopted as
one sum is an opaque learner: of the columns that its predictor reads, or, where it has none, of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from attrs import evolve, frozen

from costframe.adoption.callable_model import ClassOneFunction, Method
from costframe.adoption.classes import classes_of
from costframe.adoption.foreign import is_of
from costframe.adoption.inside import inner_of, members_of
from costframe.adoption.opaque import opaque_member, opaque_tree
from costframe.adoption.own import gives_its_scores, is_own
from costframe.adoption.sklearn.joined_columns import JoinedColumns
from costframe.adoption.sklearn.linear import SCORED
from costframe.adoption.sklearn.terms import Term, add_terms
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError
from costframe.core.plugins.registry import registry
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor, behind_preparation
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.links import BlendPart
from costframe.core.stages.stages import Answer
from costframe.core.tables.restored_rows import ReadsNumbers
from costframe.core.terms.classes import one_margin

Ask = Literal["predict", "decision_function"]

_THROUGH = ("Pipeline", "RFE", "RFECV", "FixedThresholdClassifier", "TunedThresholdClassifierCV")
_BOOSTED = ("AdaBoostClassifier", "GradientBoostingClassifier", "HistGradientBoostingClassifier")


@frozen(eq=False)
class PredictorMethod(ReadsNumbers):
    """A method of a predictor as a function of the columns that it reads, float64 (rows, any)."""

    predictor: Predictor
    columns: tuple[int, ...]
    method: Ask

    @classmethod
    def of(cls, predictor: Predictor, method: Ask) -> PredictorMethod:
        """Return a method of a predictor."""
        place = {name: f for f, name in enumerate(predictor.feature_names)}
        return cls(predictor, tuple(place[name] for name in predictor.used_features), method)

    def __call__(self, rows: F8) -> F8:
        """Return what the method gives; columns that it does not read are missing."""
        whole = np.full((len(rows), len(self.predictor.feature_names)), np.nan)
        whole[:, list(self.columns)] = rows
        values: F8 = getattr(self.predictor, self.method)(whole)
        return one_margin(values) if self.method == "decision_function" else values


class Members:
    """The members of a model over raw columns; it gathers the columns that they read, and their prices."""

    def __init__(self, model: Any, names: tuple[str, ...]) -> None:
        self.names, self._columns = names, JoinedColumns(model, names)
        self._prices: list[CostModel] = []

    def predicted(self, model: Any, method: Method, columns: Sequence[int] | None = None) -> Term:
        """Return a fitted member's `predict_proba`, of two classes that of class 1, or its `predict`.

        It reads these of the raw columns, perhaps one of them twice; by default all.
        """
        tree = self._tree(model, method, columns)
        answer = tree.only_answer
        if method == "predict" and answer is not None and answer.link == "identity" and answer.divisor is not None:
            return Term.scores(tree).times(np.eye(len(answer.intercept)) / answer.divisor)  # no blend: it has bounds
        term, classes = Term.predictions(tree), classes_of(model) if method == "predict_proba" else None
        return term.times([[0.0], [1.0]]) if classes is not None and term.n_values == len(classes) == 2 else term

    def decided(self, model: Any) -> Term:
        """Return a classifier's `decision_function`."""
        tree = self._tree(model, "decision_function", None)
        answer = tree.only_answer
        term = Term.scores(tree, blended=answer is not None and not answer.by_scores)
        return term.times([[-1.0], [1.0]]) if is_own(inner_of(model)) and term.n_values == 2 else term

    def link_of(self, model: Any) -> BlendPart | None:
        """Return the link that makes a member's probability of class 1 of its scores; None if none does."""
        if type(model).__name__ == "_ConstantPredictor":  # of scikit-learn, for a label that all or no rows had
            return BlendPart("identity")
        predictor = _try_adopt(model, self.names)
        core = None if predictor is None else behind_preparation(predictor)
        if not isinstance(core, StageTree) or len(core.stages) > 1 or not _gives_adopted_scores(model):
            return None
        answer = core.only_answer
        if answer is None or answer.class_scores or answer.link not in {"sigmoid", "identity"}:
            return None
        if not answer.blends:
            return BlendPart(answer.link, 1, answer.temperature) if answer.link == "sigmoid" else None
        return answer.blends[0].parts[0] if _only_links(answer) else None

    def sum(self, terms: Sequence[Term]) -> Term:
        """Return the sum of terms of members, over the columns that all of them read."""
        names = tuple(self._columns.made)
        return add_terms([evolve(term, bank=term.bank.with_features(names)) for term in terms])

    def beside(self, terms: Sequence[Term]) -> Term:
        """Return the values of all terms, one term's after the other's."""
        ends = np.cumsum([0, *(term.n_values for term in terms)])
        unit = np.eye(int(ends[-1]))
        pairs = zip(terms, ends[:-1], ends[1:], strict=True)
        return self.sum([term.times(unit[begin:end]) for term, begin, end in pairs])

    def predictor(self, tree: StageTree) -> Predictor:
        """Return the model of the raw columns, given that of the columns of `sum`, at the prices of the members."""
        alike = self._prices and all(prices == self._prices[0] for prices in self._prices)
        return self._columns.predictor(tree, self._prices[0] if alike else None)

    def _tree(self, model: Any, method: Method, columns: Sequence[int] | None) -> StageTree:
        """Return a member as a tree of one answer over the columns gathered so far."""
        names = self.names if columns is None else tuple(f"{self.names[f]} {at}" for at, f in enumerate(columns))
        places = [*range(len(names))] if columns is None else [int(f) for f in columns]
        predictor = _try_adopt(model, names)
        core = None if predictor is None else behind_preparation(predictor)
        if predictor is not None and predictor.costs is not None and columns is None:
            self._prices.append(predictor.costs.without_errors())
        if method == "decision_function" and not _gives_adopted_scores(model):
            core = None
        if not isinstance(core, StageTree) or core.only_answer is None or len(core.stages) > 1:
            return self._columns.place(_as_opaque(model, predictor, names, method), places)
        if isinstance(predictor, PreparedPredictor):
            return self._columns.place_behind(core, predictor.preparation, places)
        return self._columns.place(core, places)


def _only_links(answer: Answer) -> bool:
    """Return whether the one blend of an answer of one score is a link, and nothing else."""
    blend, *others = answer.blends
    plain = not others and answer.link == "identity" and answer.temperature == 1.0 and blend.weights.shape == (1, 1)
    return bool(plain and blend.weights[0, 0] == 1.0 and blend.intercept[0] == 0.0)


def _try_adopt(model: Any, names: tuple[str, ...]) -> Predictor | None:
    """Adopt a model; return None if it cannot be adopted exactly."""
    try:
        predictor: Predictor | None = registry().adopt(model, names)
    except AdoptionError:
        return None
    return predictor


def _gives_adopted_scores(model: Any) -> bool:
    """Return whether a classifier's `decision_function` gives the scores of its adopted answer."""
    inner = inner_of(model)
    while type(inner).__name__ in _THROUGH:
        inner = inner_of(next(iter(members_of(inner))))
    if type(inner).__name__ == "OneVsRestClassifier":
        return all(map(_gives_adopted_scores, inner.estimators_))
    if is_of(inner, "lightgbm", "LGBMModel"):
        return bool(inner.get_params().get("boosting_type") != "rf")  # whose scores are means
    if is_own(inner):
        return gives_its_scores(inner)
    return type(inner).__name__ in {*SCORED, *_BOOSTED}


def _as_opaque(model: Any, predictor: Predictor | None, names: tuple[str, ...], method: Method) -> StageTree:
    """Return a member as an opaque learner: its predictor, of the columns that this reads, or the member itself."""
    if predictor is None or (method == "decision_function" and not _gives_adopted_scores(model)):
        return opaque_member(model, names, method)
    asked = PredictorMethod.of(predictor, "decision_function" if method == "decision_function" else "predict")
    function: Callable[..., Any] = asked
    classes = classes_of(model) if method != "predict" else None
    width = 1 if classes is not None and len(classes) == 2 else None if classes is None else len(classes)
    width = np.size(asked(np.zeros((1, len(asked.columns))))) if width is None else width
    if method == "predict_proba" and width == 1:
        function = ClassOneFunction(asked)
    tree = opaque_tree(type(model).__name__, function, names, asked.columns, width)
    return tree.with_categories(predictor.categories)
