"""When an element is right: the accept-if test and the tolerance of an output.

Written so that acceptance has to be shown: a comparison with NaN is false, and so NaN is wrong.
"""

import numpy as np
from numpy.typing import NDArray

from judge.bfloat16 import from_bfloat16
from judge.problem import Array, Problem, Tolerance


def tolerance_of(problem: Problem, output: str) -> Tolerance:
    """The tolerance of an output; "*" serves every output that has none of its own.

    Raises KeyError when the problem gives neither.
    """
    return problem.tolerances[output] if output in problem.tolerances else problem.tolerances["*"]


def is_right(
    got: NDArray[np.float64], want: NDArray[np.float64], tolerance: Tolerance, *, nan_equal: bool = False
) -> NDArray[np.bool_]:
    """True where an element is accepted.

    A NaN is accepted only with nan_equal and where want is NaN too; an infinity only where want is
    the same infinity.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        right = np.abs(got - want) <= budget(want, tolerance)
    infinite = np.isinf(want)
    right[infinite] = got[infinite] == want[infinite]
    if nan_equal:
        right |= np.isnan(got) & np.isnan(want)
    return np.asarray(right, dtype=np.bool_)


def budget(want: NDArray[np.float64], tolerance: Tolerance) -> NDArray[np.float64]:
    """The error each element may have, in the unit of the output."""
    return np.asarray(tolerance.abs_ + tolerance.rel * np.abs(want), dtype=np.float64)


def as_float64(raw: Array, dtype: str) -> NDArray[np.float64]:
    """Elements as float64. bf16 is stored as uint16; a yardstick's float32 stands for itself."""
    if dtype == "bf16" and raw.dtype == np.uint16:
        raw = from_bfloat16(raw)
    with np.errstate(invalid="ignore"):  # a signaling NaN, which a kernel may write
        return np.array(raw, dtype=np.float64)
