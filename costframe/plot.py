"""Displays: frontiers, stages, and what rows acquire, drawn by matplotlib."""

from costframe.core.checks import needed
from costframe.report.frontier_display import FrontierDisplay
from costframe.report.stages_display import StagesDisplay
from costframe.report.step_displays import AcquisitionDisplay, RowAcquisitionDisplay, RowsPerStageDisplay

__all__ = ["AcquisitionDisplay", "FrontierDisplay", "RowAcquisitionDisplay", "RowsPerStageDisplay", "StagesDisplay"]

needed("matplotlib", "cli")


def __dir__() -> list[str]:
    return __all__
