"""Arrays in annotations: float64, int64, bool and uint8, of any shape."""

import numpy as np
from numpy.typing import NDArray

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]
B1 = NDArray[np.bool_]
U8 = NDArray[np.uint8]
