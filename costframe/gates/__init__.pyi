# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.gates.composite import Candidate as Candidate
from costframe.gates.composite import ExpensiveModel as ExpensiveModel
from costframe.gates.composite import Scores as Scores
from costframe.gates.curve import GateCurve as GateCurve
from costframe.gates.curve import OperatingPoint as OperatingPoint
from costframe.gates.estimator import GatedClassifier as GatedClassifier
from costframe.gates.grid import GatePoints as GatePoints
from costframe.gates.grid import read_several as read_several
from costframe.gates.grid import read_tradeoffs as read_tradeoffs
from costframe.gates.pair import GatedPair as GatedPair
from costframe.training.group_norms import GroupNorms as GroupNorms
from costframe.training.linear_fit import Standardized as Standardized
from costframe.training.linear_fit import fit_linear as fit_linear
from costframe.training.linear_fit import fit_logistic as fit_logistic
from costframe.training.penalized import Effort as Effort
from costframe.training.penalized import PenalizedObjective as PenalizedObjective
