"""PTX beside its source lines: what belongs where, and what is said when it is gone."""

import pytest

from judge import pipeline
from judge.compiler import CPU_ARCH, Target, compile_unit
from judge.events import NullSink
from judge.records import BackendReport
from judge.selection import Options, choose_cases
from judge.submission.read import read_submission
from judge.web.listing import judged_unit
from judge.web.ptx import instructions_by_line, kept_ptx
from tests.unit.reports.samples import make_case, make_report
from tests.web.site import answer

TEXT = """
.file\t1 "/submission.cu"
.file\t2 "/other.h"
.visible .entry _Z1av(
\t.param .u64 p
)
{
\t.reg .b32 \t%r<3>;
\t.loc\t1 4 3
\tmov.u32 \t%r1, %tid.x;
\t@%p1 bra \t$L__BB0_2;
\t.loc\t2 9 3
\tadd.s32 \t%r2, %r1, 1;
\t.loc\t1 4 9, function_name $L__info0, inlined_at 1 7 2
\tret;
}
.visible .entry _Z1bv()
{
\t.loc\t1 20 3
\tret;
}
"""


def test_instructions_stand_under_the_line_of_the_submission_they_came_from():
    assert instructions_by_line(TEXT, "_Z1av") == {
        4: ["mov.u32 %r1, %tid.x;", "@%p1 bra $L__BB0_2;", "ret;"],
        0: ["add.s32 %r2, %r1, 1;"],
    }
    assert instructions_by_line(TEXT, "_Z1bv") == {20: ["ret;"]}
    assert instructions_by_line(TEXT, "_Z1") == {}


def test_what_was_judged_is_found_again_and_nothing_is_compiled(problems, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    problem = problems["splitk-merge"]
    source = (problem.folder / "submissions/accepted/plain.cu").read_bytes()
    unit = judged_unit(problem, source, answer(cases="sample"), make_report())
    assert kept_ptx(unit, "") is None
    assert compile_unit(unit, Target(kind="ptx", arch=CPU_ARCH, mode="debug")).ok
    found = kept_ptx(unit, "no such kernel")
    assert found.name == found.kernels[0]
    shown = {line.number: (line.text, line.instructions) for line in found.lines}
    number = next(n for n, text in enumerate(source.decode().split("\n"), 1) if "threadIdx.x" in text)
    assert "threadIdx.x" in shown[number][0]
    assert any("%tid.x" in one for one in shown[number][1])


@pytest.mark.parametrize(("backend", "cases"), [("auto", "all"), ("cuda", "bench"), ("cuda", "all"), ("cpu", "sample")])
def test_the_unit_is_the_one_that_was_judged(problems, monkeypatch, backend, cases):
    problem = problems["flash-forward"]
    source = (problem.folder / "submissions/accepted/plain.cu").read_bytes()
    monkeypatch.setattr(pipeline, "gpu_present", lambda: backend != "cpu")
    judging = pipeline._Judging(problem, source, "mine.cu", Options(backend=backend, group=cases), NullSink())
    judging.submission = read_submission(source, "mine.cu", problem)
    on_cpu, on_cuda = judging._divide(choose_cases(problem, judging.options))
    kinds = [kind for kind, there in (("cpu", on_cpu), ("cuda", on_cuda)) if there]
    backends = tuple(BackendReport(kind=kind, device="x", arch="sm_90", isolation="none") for kind in kinds)
    told = answer("flash-forward", backend=backend, cases=cases)
    found = judged_unit(problem, source, told, make_report(backends=backends))
    assert found.source == judging._unit(on_cpu or on_cuda, on_cuda).source


def test_a_page_says_when_it_is_gone(site, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    submission = site.plant(site.submit(), make_report(cases=(make_case(name="two-segments"),)))
    answer = site.get(f"/submissions/{submission}/ptx")
    assert answer.status_code == 200
    assert "not kept any more" in answer.text
