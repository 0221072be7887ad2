"""Parts of studies, for tests that look inside one."""

from costframe.study.division import Division, StudyData
from costframe.study.entrants import Entrant
from costframe.study.estimates import estimate_on_rows
from costframe.study.fit_files import file_name
from costframe.study.fits_within_sets import FITS
from costframe.study.folds import folds_by
from costframe.study.objective import BILL
from costframe.study.path_points import choose_points
from costframe.study.paths import fit_along
from costframe.study.rows import StudyRows
from costframe.study.run_folder import hold_alone
from costframe.study.score_choice import choose_error_cost
from costframe.study.study import Study
from costframe.study.trial import Trial

__all__ = [
    "BILL",
    "FITS",
    "Division",
    "Entrant",
    "Study",
    "StudyData",
    "StudyRows",
    "Trial",
    "choose_error_cost",
    "choose_points",
    "estimate_on_rows",
    "file_name",
    "fit_along",
    "folds_by",
    "hold_alone",
]
