"""What the labels of a column may be, and how they are found."""

from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categorical import find_labels
from costframe.core.tables.categories import OTHER
from costframe.core.tables.dates import Dates
from costframe.core.tables.hashed_labels import HashedLabels

__all__ = ["OTHER", "AsGiven", "Dates", "HashedLabels", "find_labels"]
