"""The order that a schedule gives to the CTAs of a launch and to the warps of each."""

import numpy as np
from numpy.typing import NDArray


def running_order(schedule: int, ctas: int, warps: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Numbers of the CTAs and of the warps in the order they run.

    schedule: 0 as numbered, 1 backwards, else shuffled by it.
    """
    cta_order = np.arange(ctas, dtype=np.int64)
    warp_order = np.arange(warps, dtype=np.int32)
    if schedule == 0:
        return cta_order, warp_order
    cta_order, warp_order = cta_order[::-1].copy(), warp_order[::-1].copy()
    if schedule > 1:
        np.random.default_rng((schedule, 0)).shuffle(cta_order)
        np.random.default_rng((schedule, 1)).shuffle(warp_order)
    return cta_order, warp_order
