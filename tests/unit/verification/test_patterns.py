import numpy as np
import pytest

from judge.verification.patterns import describe_pattern


def mask(shape, *places):
    wrong = np.zeros(shape, dtype=bool)
    for place in places:
        wrong[place] = True
    return wrong


@pytest.mark.parametrize(
    ("wrong", "axes", "words"),
    [
        (mask((4, 8)), ("N", "D"), "nowhere"),
        (mask((4, 8), ...), ("N", "D"), "every element"),
        (mask((4, 8), (1, 2)), ("N", "D"), "one element only, N = 1, D = 2"),
        (
            mask((2, 1000, 4), np.s_[:, 992:]),
            ("BH", "N", "D"),
            "only the last 8 of N (from 992 on, after the last full tile of 32)",
        ),
        (mask((8, 16, 4), np.s_[3]), ("BH", "N", "D"), "only BH = 3"),
        (mask((8, 16, 4), np.s_[7]), ("BH", "N", "D"), "only the last index of BH (7)"),
        (mask((8, 16, 64), np.s_[..., 3::4]), ("BH", "N", "D"), "every 4th D, starting at 3"),
        (mask((8, 64), np.s_[:, 1::2]), ("N", "D"), "every other D, starting at 1"),
        (mask((8, 16), np.s_[:3]), ("N", "D"), "only the first 3 of N (0 to 2)"),
        (mask((8, 16), np.s_[2:5, 4:6]), ("N", "D"), "only N 2 to 4; only D 4 to 5"),
        (mask((64,), np.s_[8:32], np.s_[40:64]), ("N",), "N mod 32 from 8 to 31"),
        (mask((50,), 1, 2, 7, 11, 30), ("N",), "5 of 50 values of N (1, 2, 7, 11, ...)"),
    ],
)
def test_pattern_in_words(wrong, axes, words):
    assert describe_pattern(wrong, axes) == words


def test_whole_rows_are_told_from_scattered_elements():
    rows = mask((3, 5, 8), (0, 1), (1, 4), (2, 2))
    assert describe_pattern(rows, ("BH", "N", "D")).startswith("whole rows of D (3 of 15 rows")
    scattered = mask((3, 3), (0, 0), (1, 1), (2, 2))
    assert describe_pattern(scattered, ("N", "D")) == "scattered, 3 of 9 elements"


def test_partial_box_says_how_much_of_it_is_wrong():
    wrong = mask((10, 10), (8, 1), (9, 3))
    assert describe_pattern(wrong, ("N", "D")).endswith("there, 2 of the 4 elements")


def test_unnamed_axes_get_their_number():
    assert describe_pattern(mask((4, 4), np.s_[:, 3]), ("N", 4)) == "only the last index of axis 1 (3)"


def test_wrong_number_of_names_is_refused():
    with pytest.raises(ValueError, match="2 axes but 1 names"):
        describe_pattern(mask((2, 2)), ("N",))
