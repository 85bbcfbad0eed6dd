import pytest

from judge.submission.places import refused_at
from judge.submission.read import read_submission
from tests.unit.submission.example import PROBLEM

SOURCE = """// @workspace float part[N - 2000]
//  @launch k<D><<<dim3(0, 1), 2048, 300000>>>(Q, part)
template <int D> __global__ void k(const float* Q, float* part) {}
"""


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("line 2: grid.x = 0: a grid needs at least one block", "dim3(0, 1)"),
        ("line 2: block of 2048 x 1 x 1 = 2048 threads", "2048, 300000"),
        ("line 2: shared memory 300000 bytes, the limit is 232448", "300000"),
        ("line 2: the arguments need 5000 bytes", "Q, part"),
        ("line 2: static shared memory 65536 bytes", "k<D>"),
        ("line 1: workspace part has -1000 elements", "N - 2000"),
    ],
)
def test_the_column_is_that_of_the_part_the_message_is_about(message, text):
    submission = read_submission(SOURCE.encode(), "a.cu", PROBLEM)
    line, column = refused_at(message, submission)
    assert SOURCE.splitlines()[line - 1][column - 1 :].startswith(text)


@pytest.mark.parametrize("message", ["default launch: grid.x = 0", "line 7: grid.x = 0", "no place at all"])
def test_what_names_no_launch_of_the_file_has_no_place(message):
    assert refused_at(message, read_submission(SOURCE.encode(), "a.cu", PROBLEM)) is None
