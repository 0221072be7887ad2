# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.adoption.classes import check_model_classes as check_model_classes
from costframe.adoption.given.base import GivenBase as GivenBase
from costframe.adoption.given.columns import GivenColumns as GivenColumns
from costframe.adoption.given.model import GivenModel as GivenModel
from costframe.adoption.names import match_columns as match_columns
