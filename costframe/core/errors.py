"""What costframe raises: one root, one leaf per thing that can be wrong."""

__all__ = [
    "AdoptionError",
    "BankError",
    "CostModelError",
    "CostframeError",
    "DataError",
    "DataTypeError",
    "InquiryError",
    "ParameterError",
    "PluginError",
    "StageError",
    "StorageError",
]


class CostframeError(ValueError):
    """Anything costframe refuses; the text names the thing, what was expected and what came."""


class CostModelError(CostframeError):
    """A price table that makes no sense, or does not fit the features at hand."""


class BankError(CostframeError):
    """Weak learners that are malformed or do not fit together."""


class StageError(CostframeError):
    """A stage tree that is not a tree, or whose parts do not fit its bank."""


class InquiryError(CostframeError):
    """A step of an inquiry that it did not ask for."""


class DataError(CostframeError):
    """A table of rows that does not fit what reads it."""


class DataTypeError(DataError, TypeError):
    """A cell of a kind that cannot be a number."""


class ParameterError(CostframeError):
    """A setting with a value that is not allowed, or that would have no effect."""


class AdoptionError(CostframeError):
    """A foreign model that cannot be adopted exactly."""


class StorageError(CostframeError):
    """A saved file that is truncated, altered, newer than this version, or not ours."""


class PluginError(CostframeError):
    """A plugin that is broken, clashes with another, or is asked for what it does not have."""
