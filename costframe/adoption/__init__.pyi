# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.adoption.adopted import of_columns as of_columns
from costframe.adoption.adopting import adopt as adopt
from costframe.adoption.fitted_model import FittedModel as FittedModel
from costframe.adoption.fitted_model import GivenColumns as GivenColumns
from costframe.adoption.fitted_model import check_classes as check_classes
from costframe.adoption.fitted_model import probability_tree as probability_tree
from costframe.adoption.foreign import describe_error as describe_error
from costframe.adoption.foreign import is_unfitted as is_unfitted
from costframe.adoption.opaque import CallableModel as CallableModel
from costframe.adoption.opaque import labels_for as labels_for
from costframe.adoption.opaque import refit as refit
from costframe.adoption.opaque import require_probabilities as require_probabilities
