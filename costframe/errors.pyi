# What `errors.py` loads when it is first used: each name, and its module.

from costframe.adoption.given.model import PrefittedWarning as PrefittedWarning
from costframe.choices.budget_search import UselessBudgetWarning as UselessBudgetWarning
from costframe.core.errors import AdoptionError as AdoptionError
from costframe.core.errors import BankError as BankError
from costframe.core.errors import CostframeError as CostframeError
from costframe.core.errors import CostModelError as CostModelError
from costframe.core.errors import DataError as DataError
from costframe.core.errors import DataTypeError as DataTypeError
from costframe.core.errors import InquiryError as InquiryError
from costframe.core.errors import OutsiderError as OutsiderError
from costframe.core.errors import ParameterError as ParameterError
from costframe.core.errors import PluginError as PluginError
from costframe.core.errors import SourceError as SourceError
from costframe.core.errors import StageError as StageError
from costframe.core.errors import StorageError as StorageError
from costframe.core.errors import TableError as TableError
from costframe.core.errors import TotalCostError as TotalCostError
from costframe.core.errors import UnknownValuesWarning as UnknownValuesWarning
from costframe.core.errors import UntestedWarning as UntestedWarning
from costframe.core.errors import WorkersError as WorkersError
from costframe.promises.choose import BrokenPromiseError as BrokenPromiseError
from costframe.sources.source import KeyRefusedError as KeyRefusedError
from costframe.study.failures import UnfinishedError as UnfinishedError
