"""bfloat16 as it is stored: rounding, specials, and the way back."""

import numpy as np
import pytest

from judge.bfloat16 import from_bfloat16, to_bfloat16


def word(bits):
    return np.array([bits], np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("bits", "stored"),
    [
        (0x3F800000, 0x3F80),
        (0x3F808000, 0x3F80),  # a tie goes to the even neighbor below
        (0x3F818000, 0x3F82),  # and to the one above
        (0x3F808001, 0x3F81),
        (0xBF808001, 0xBF81),
        (0x80000000, 0x8000),
        (0x00000001, 0x0000),
        (0x7F7FFFFF, 0x7F80),  # the largest float32 is nearer to infinity
        (0x7F800000, 0x7F80),
        (0xFF800000, 0xFF80),
        (0x7F800001, 0x7FC0),
        (0xFFFFFFFF, 0x7FC0),
    ],
)
def test_rounding(bits, stored):
    assert to_bfloat16(word(bits)).tolist() == [stored]


def test_every_bfloat16_comes_back():
    stored = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
    wide = from_bfloat16(stored)
    assert wide.shape == stored.shape
    numbers = ~np.isnan(wide)
    assert np.array_equal(to_bfloat16(wide)[numbers], stored[numbers])
    assert (to_bfloat16(wide)[~numbers] == 0x7FC0).all()
    assert (~numbers).sum() == 2 * 127


def test_large_and_empty_arrays_keep_their_shape():
    values = np.random.default_rng(1).standard_normal((3, 100_003)).astype(np.float32)
    back = from_bfloat16(to_bfloat16(values))
    assert back.shape == values.shape
    assert np.abs(back - values).max() <= 2**-8 * np.abs(values).max()
    assert not np.array_equal(back, values)
    assert to_bfloat16(np.empty((0, 4), np.float32)).shape == (0, 4)
