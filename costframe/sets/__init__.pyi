# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.core.prices.basket import SetPrices as SetPrices
from costframe.sets.archive import SetArchive as SetArchive
from costframe.sets.choose import choose_alternatives as choose_alternatives
from costframe.sets.choose import choose_by_score as choose_by_score
from costframe.sets.choose import choose_spread as choose_spread
from costframe.sets.selectors import choose_parts as choose_parts
