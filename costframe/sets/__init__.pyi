# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.core.prices.basket import SetPrices as SetPrices
from costframe.sets.archive import FeatureSet as FeatureSet
from costframe.sets.archive import SetArchive as SetArchive
