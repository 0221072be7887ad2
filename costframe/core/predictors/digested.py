"""What tells a model from others: its digest, and the foreign functions that it calls."""

from __future__ import annotations

from abc import ABC
from functools import cached_property
from typing import Any

import attrs

from costframe.core.digests import digest_of
from costframe.core.errors import InquiryError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.tables.preparation import Preparation

_GIVE = (
    "has no digest by itself; give the class a property `content`: a tuple of texts, numbers and arrays that tells its "
    "models apart"
)


class Digested(ABC):  # noqa: B024 - an interface whose methods have defaults for classes of attrs
    """A model with a digest, equal for equal models in any process; a kind may replace `content` and `functions`."""

    @property
    def content(self) -> tuple[Any, ...]:
        """All that decides its rows, without prices: data, and the `digest` of each model within.

        By default the fields of a class of attrs, without `costs`.

        Raises
        ------
        InquiryError
            If the class is none of attrs, or a field is a function, which data cannot tell from others.
        """
        if not attrs.has(type(self)):
            raise InquiryError(f"digest: a {type(self).__name__} {_GIVE}")
        parts = []
        for name, part in _fields_of(self).items():
            if callable(part):
                raise InquiryError(f"digest: {name} of a {type(self).__name__} is a function, so it {_GIVE}")
            parts.append(part.digest if isinstance(part, Digested) else part)
        return tuple(parts)

    @property
    def functions(self) -> tuple[Any, ...]:
        """The opaque learners and operations that it may call, in a fixed order; by default those of its fields."""
        held: list[Any] = []
        for part in _fields_of(self).values():
            if isinstance(part, Digested):
                held += part.functions
            elif isinstance(part, WeakLearnerBank | Preparation):
                held += part.opaques
        return tuple(held)

    @cached_property
    def digest(self) -> str:
        """A digest of its class and `content`, in hexadecimal letters; an `InquiryError` if it has none."""
        content = self.content
        try:
            return digest_of(type(self).__name__, *content)
        except TypeError as error:
            raise InquiryError(f"digest: a {type(self).__name__} {_GIVE}; {error}") from error

    @cached_property
    def function_places(self) -> dict[Any, int]:
        """The place of each of its `functions`; the first one of a function that two parts share."""
        places = dict[Any, int]()
        for place, held in enumerate(self.functions):
            places.setdefault(held, place)
        return places


def _fields_of(model: Any) -> dict[str, Any]:
    """Return the fields of an object of attrs by name, without prices."""
    if not attrs.has(type(model)):
        return {}
    names = [field.name for field in attrs.fields(type(model))]
    return {name: getattr(model, name) for name in names if name != "costs"}
