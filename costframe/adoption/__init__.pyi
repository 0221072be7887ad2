# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.adoption.callable_model import CallableModel as CallableModel
from costframe.adoption.classes import check_model_classes as check_model_classes
from costframe.adoption.classes import labels_for as labels_for
from costframe.adoption.classes import require_probabilities as require_probabilities
from costframe.adoption.foreign import describe_error as describe_error
from costframe.adoption.foreign import is_unfitted as is_unfitted
from costframe.adoption.given.columns import GivenColumns as GivenColumns
from costframe.adoption.given.fitting import fit_copy as fit_copy
from costframe.adoption.given.model import FittedModel as FittedModel
from costframe.adoption.given.model import GivenModel as GivenModel
from costframe.adoption.names import match_columns as match_columns
