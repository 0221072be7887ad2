"""Progress over the fits of several algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

if TYPE_CHECKING:
    from costframe.frontier.trial import Progress

__all__ = ["FitCount", "count_on"]


@define
class FitCount:
    """A count of fits over several algorithms.

    Attributes
    ----------
    progress : Progress
    done : int
        Fits done, of all algorithms so far.
    """

    progress: Progress
    done: int = 0

    def then(self, left: int) -> Progress:
        """Return the progress of the next algorithm, assuming equally many fits for the `left` ones after it."""
        before = self.done

        def report(done: int, total: int, text: str) -> None:
            self.done = before + done
            self.progress(self.done, before + total * (1 + left), text)

        return report


def count_on(progress: Progress, before: int, least: int) -> Progress:
    """Return a progress that counts on from `before` earlier fits, with at least `least` to follow."""

    def report(done: int, total: int, text: str) -> None:
        progress(before + done, before + max(least, total), text)

    return report
