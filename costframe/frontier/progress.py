"""Progress counted over several algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

if TYPE_CHECKING:
    from costframe.frontier.trial import Progress

__all__ = ["Count", "counted"]


@define
class Count:
    """Counts fits over several algorithms.

    Attributes
    ----------
    progress : Progress
    done : int
        Fits done, of all algorithms so far.
    """

    progress: Progress
    done: int = 0

    def then(self, left: int) -> Progress:
        """Return the progress of the next algorithm; the `left` ones after it are assumed to have as many fits."""
        before = self.done

        def report(done: int, total: int, text: str) -> None:
            self.done = before + done
            self.progress(self.done, before + total * (1 + left), text)

        return report


def counted(progress: Progress, before: int, least: int) -> Progress:
    """Count on from `before` earlier fits; at least `least` fits follow."""

    def report(done: int, total: int, text: str) -> None:
        progress(before + done, before + max(least, total), text)

    return report
