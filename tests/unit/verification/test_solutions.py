"""The ladder of model solutions: their order, and what the comment at the head of each says."""

import pytest

from judge.catalogue import find_problems, problem_folder
from judge.verification.solutions import Remark, ladder_faults, model_solutions, read_remarks

HEAD = """// problem: x
// needs-gpu: sm_90
// Rings in shared memory,
// one for each warp.
//
// Added over warps.cu:
// - Even shares,
//   wherever sequences end.
// - No barrier.
// gqa-decode has the same kernel.
// Predicted: 95% of
// the roof.
// Measured: H200: 507.7 us.
// @launch f<<<1, 1>>>(x)
__global__ void f() {}  // Measured: nothing
// Predicted: nothing
"""


@pytest.fixture
def folder(tmp_path):
    accepted = tmp_path / "submissions" / "accepted"
    accepted.mkdir(parents=True)
    for name, text in (("better", HEAD), ("plain", "// Plain.\n"), ("a_first", "int x;\n")):
        (accepted / f"{name}.cu").write_text(text)
    return tmp_path


def test_a_head_is_taken_apart_at_its_labels_and_list_items():
    assert read_remarks(HEAD) == (
        Remark("text", "Rings in shared memory, one for each warp."),
        Remark("added", "Added over warps.cu:"),
        Remark("item", "Even shares, wherever sequences end."),
        Remark("item", "No barrier."),
        Remark("text", "gqa-decode has the same kernel."),
        Remark("predicted", "95% of the roof."),
        Remark("measured", "H200: 507.7 us."),
    )
    assert read_remarks("#include <x>\n// late\n") == ()
    assert read_remarks("") == ()


def test_the_ladder_decides_the_order_and_without_one_plain_comes_first(folder):
    assert [one.name for one in model_solutions(folder)] == ["plain", "a_first", "better"]
    (folder / "ladder.txt").write_text("better\ngone\nplain\n")
    found = model_solutions(folder)
    assert [one.name for one in found] == ["better", "plain", "a_first"]
    assert (found[0].about, found[0].measured) == ("Rings in shared memory, one for each warp.", "H200: 507.7 us.")
    assert (found[2].about, found[2].measured) == ("", "")


def test_a_ladder_that_does_not_fit_the_kernels_is_told(folder):
    assert list(ladder_faults(folder)) == ["ladder.txt is missing: it names the 3 accepted kernels, the simplest first"]
    (folder / "ladder.txt").write_text("plain\ngone\nbetter\nplain\n")
    assert list(ladder_faults(folder)) == [
        "ladder.txt names gone, which is no accepted kernel",
        "ladder.txt does not name a_first",
        "ladder.txt names plain more than once",
    ]
    (folder / "ladder.txt").write_text("plain\na_first\nbetter\n")
    assert list(ladder_faults(folder)) == []


@pytest.mark.parametrize("problem", find_problems())
def test_every_model_solution_says_what_it_is(problem):
    folder = problem_folder(problem)
    assert list(ladder_faults(folder)) == []
    assert [one.name for one in model_solutions(folder) if not one.about] == []
