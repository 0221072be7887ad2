"""What describes a predictor: the columns of its rows, labels of categories and classes, and its own prices."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from attrs import field, frozen
from numpy.typing import NDArray

from costframe.core.errors import CostModelError, ParameterError
from costframe.core.prices.costs import CostModel
from costframe.core.prices.error_prices import ErrorPrices
from costframe.core.tables.categories import Categories, as_categories, check_features
from costframe.core.terms.classes import as_classes


@frozen(eq=False)
class Card:
    """What describes a predictor apart from its computations; `Predictor.with_card` changes it.

    Parameters
    ----------
    feature_names : tuple of str
        Columns of the rows that it predicts.
    costs : CostModel or None
        Its own prices; None prices every feature at one.
    categories : mapping of str to tuple of str
        Labels of each feature whose categories are texts; the number of a label is its position.
    classes : (M,), optional
        Labels of the classes whose probabilities it gives, in their order.
    half : float
        Prediction above which a row is of the second of two classes; of more, the class is the likeliest.
    plans : bool
        Whether it chooses what rows acquire at prices and a tradeoff that are given when it predicts.
    ends_at_class : bool
        Whether a row ends when its likeliest class is certain, so that prices of errors cannot decide its class.
    facts : tuple of str
        What its `repr` tells first, such as its size.

    Raises
    ------
    CostModelError
        If the prices are of another type, or lack a feature.
    DataError
        If there are categories of other features, or the classes are no distinct labels.
    """

    feature_names: tuple[str, ...]
    costs: CostModel | None = None
    categories: Categories = field(factory=dict, converter=as_categories)
    classes: NDArray[Any] | None = field(default=None, converter=as_classes)
    half: float = field(default=0.5, kw_only=True)
    plans: bool = field(default=False, kw_only=True)
    ends_at_class: bool = field(default=False, kw_only=True)
    facts: tuple[str, ...] = field(default=(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_features(self.categories, self.feature_names)
        if self.costs is not None:
            if not isinstance(self.costs, CostModel):
                raise CostModelError(f"costs: expected a CostModel, got {type(self.costs).__name__}; see CostModel.of")
            self.costs.select(self.feature_names)

    @cached_property
    def prices(self) -> CostModel:
        """Its own prices, or one for every feature."""
        return CostModel.of(self.costs, self.feature_names)

    def prices_or(self, costs: object) -> CostModel:
        """Return the prices given, or its own for None."""
        return self.prices if costs is None else CostModel.of(costs, self.feature_names)

    def errors_or(self, costs: object) -> ErrorPrices | None:
        """Return the prices of errors among the prices given, or among its own for None."""
        model = self.costs if costs is None else CostModel.of(costs, self.feature_names)
        return None if model is None else model.errors

    @property
    def known_classes(self) -> NDArray[Any]:
        """Its `classes`; a `ParameterError` if it knows none."""
        if self.classes is None:
            raise ParameterError("labels: the model does not know its classes; name them by `with_classes(labels)`")
        return self.classes

    @cached_property
    def column(self) -> dict[str, int]:
        """Column of each feature."""
        return {name: f for f, name in enumerate(self.feature_names)}
