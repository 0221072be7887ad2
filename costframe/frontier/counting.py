"""Progress counted over several algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

if TYPE_CHECKING:
    from costframe.frontier.trial import Progress

__all__ = ["Count", "counted"]


@define
class Count:
    """Counts on from algorithm to algorithm.

    Attributes
    ----------
    told : Progress
    done : int
        Fits done, of all algorithms so far.
    """

    told: Progress
    done: int = 0

    def then(self, left: int) -> Progress:
        """Return what the next algorithm tells; those `left` after it are taken to have as many fits."""
        before = self.done

        def tell(done: int, total: int, text: str) -> None:
            self.done = before + done
            self.told(self.done, before + total * (1 + left), text)

        return tell


def counted(told: Progress, before: int, least: int) -> Progress:
    """Count on from earlier fits, of which at least so many follow."""

    def tell(done: int, total: int, text: str) -> None:
        told(before + done, before + max(least, total), text)

    return tell
