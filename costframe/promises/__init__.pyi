# What `__init__.py` loads when it is first used: each name, and its module.

from costframe.promises.certified import Certified as Certified
from costframe.promises.certified import Check as Check
from costframe.promises.certified import Enough as Enough
from costframe.promises.choose import BrokenPromiseError as BrokenPromiseError
from costframe.promises.promise import Promise as Promise
