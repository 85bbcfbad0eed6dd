"""The map of wrong elements: which cells it has and what it tells of each."""

import math

import numpy as np
import pytest

from judge.records import ErrorSummary
from judge.verdict import Verdict
from judge.verification.failuremap import MAX_COLUMNS, MAX_ROWS, map_failures, only_telling_maps
from tests.unit.reports.samples import make_case


def mapped(got, want, axes):
    return map_failures("out", axes, got, want, ~(np.abs(got - want) <= 0.5))


def test_a_cell_tells_how_much_is_wrong_and_which_element_is_worst():
    want = np.zeros((2, 100, 4))
    got = want.copy()
    got[1, 99] = [1, 2, 9, 1]
    found = mapped(got, want, ("BH", "N", "D"))
    assert (found.row_axis, found.column_axis, found.row_step, found.column_step) == ("BH", "N", 1, 4)
    (cell,) = found.cells
    assert (cell.row, cell.column, cell.wrong, cell.total) == (1, 24, 4, 16)
    assert (cell.index, cell.got, cell.want) == ((1, 99, 2), 9.0, 0.0)


def test_an_output_of_one_axis_is_a_map_of_one_row():
    found = mapped(np.array([0.0, 3.0, 0.0]), np.zeros(3), ("R",))
    assert (found.rows, found.columns, found.row_axis, found.column_axis) == (1, 3, "", "R")
    assert [(cell.row, cell.column, cell.index) for cell in found.cells] == [(0, 1, (1,))]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_comes_before_the_largest_error_and_is_told_in_words(value):
    got = np.array([[1e30, value, 0.0]])
    found = mapped(got, np.zeros((1, 3)), ("R", 3))
    assert [(c.index, c.got) for c in found.cells] == [((0, 0), 1e30), ((0, 1), str(value))]
    assert found.column_axis == "axis 1"


def test_a_large_output_keeps_to_the_size_of_a_report():
    rng = np.random.default_rng(0)
    got = rng.integers(0, 2, (1000, 4097)).astype(float)
    found = mapped(got, np.zeros_like(got), ("num_seqs", "num_heads"))
    assert max(cell.row for cell in found.cells) < MAX_ROWS
    assert max(cell.column for cell in found.cells) < MAX_COLUMNS
    assert sum(cell.wrong for cell in found.cells) == int(got.sum())
    assert sum(cell.total for cell in found.cells) == got.size


def test_a_right_output_has_no_map():
    assert mapped(np.zeros((2, 2)), np.zeros((2, 2)), ("R", "T")) is None


def test_a_report_keeps_the_map_of_its_explained_case_and_the_widest():
    def case(name, columns):
        got = np.ones((2, columns))
        error = ErrorSummary(mismatches=1, map=mapped(got, np.zeros_like(got), ("BH", "N")))
        return make_case(Verdict.WRONG_ANSWER, name=name, error=error)

    cases = [case("small", 3), case("told", 5), case("wide", 900), case("other", 7)]
    kept = only_telling_maps([*cases, make_case()], cases[1])
    assert [one.name for one in kept if one.error.map] == ["told", "wide"]
    assert [one.name for one in kept] == ["small", "told", "wide", "other", "book"]
