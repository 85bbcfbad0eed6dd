"""NVRTC's quick mode (--Ofast-compile=mid) has made instructions that no GPU knows; a right kernel stays right."""

import pytest

from judge.catalogue import load_problem
from judge.events import NullSink
from judge.pipeline import judge_submission
from judge.selection import Options
from judge.verdict import Verdict

pytestmark = pytest.mark.gpu

# As rings.cu was at first: NVRTC 13.0 then puts the base of an address and half of a cache policy into one register.
_POINTERS = (
    ("copy_16(unsigned to, ", "copy_16(__nv_bfloat16* to, "),
    ('::"r"(to), "l"(from)', '::"r"(shared_address(to)), "l"(from)'),
    (
        "const unsigned keys = shared_address(ring + slot * (2 * kTile)), "
        "values = keys + kTile * sizeof(__nv_bfloat16);",
        "__nv_bfloat16* to = ring + slot * (2 * kTile);",
    ),
    ("const unsigned at = place<D>(row, column) * sizeof(__nv_bfloat16);\n", ""),
    ("copy_16(keys + at, ", "copy_16(to + place<D>(row, column), "),
    ("copy_16(values + at, ", "copy_16(to + kTile + place<D>(row, column), "),
)


class _Notes(NullSink):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_a_kernel_that_the_quick_mode_breaks_is_judged_by_its_optimized_module():
    problem = load_problem("paged-decode-bf16")
    source = (problem.folder / "submissions/accepted/rings.cu").read_text()
    for now, then in _POINTERS:
        assert source.count(now) == 1, now
        source = source.replace(now, then)
    sink = _Notes()
    options = Options(backend="cuda", cases=("five-tokens", "index", "stairs"), seed=1)
    report = judge_submission(problem, source.encode(), "rings.cu", options, sink)
    print(*sink.notes, sep="\n")
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert len(report.cases) == 3
