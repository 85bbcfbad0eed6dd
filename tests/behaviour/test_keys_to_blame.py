"""Kernels that skip one tile or page in the middle, judged on the CPU backend: the report names what they skip."""

from pathlib import Path

import pytest

from judge.catalogue import load_problem
from judge.events import NullSink
from judge.pipeline import judge_submission
from judge.reports.markdown import render_markdown
from judge.reports.style import Style
from judge.reports.text import render_text
from judge.selection import Options
from judge.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
LOOPS = {
    "flash-forward": ("plain", "first < key_end; first += kKeys) {", "if (blockIdx.y == 1 && first == 32) continue;"),
    "paged-decode": ("online", "t < context; t += kWarps) {", "if (head == 1 && t / kPage == 1) continue;"),
}


def judge(problem, skip, *cases):
    name, loop, skipping = LOOPS[problem]
    source = (ROOT / "problems" / problem / "submissions/accepted" / f"{name}.cu").read_text()
    assert source.count(loop) == 1
    source = source.replace(loop, loop + (skipping if skip else ""))
    options = Options(backend="cpu", cases=cases, seed=7)
    return judge_submission(load_problem(problem), source.encode(), "mine.cu", options, NullSink())


def text_of(report):
    return " ".join(render_text(report, Style(color=False, width=100)).split())


@pytest.mark.parametrize(
    ("problem", "case", "keys", "where"),
    [
        ("flash-forward", "block-plus-1-full", "keys 32 to 63", {(1, 1)}),
        ("flash-forward", "two-blocks-plus-1", "keys 32 to 63", {(1, 1)}),
        ("paged-decode", "context-1000", "page 1 of sequence 0 (block {})", {(0, 1)}),
    ],
)
def test_the_tile_or_page_that_a_kernel_skips_is_named(problem, case, keys, where):
    report = judge(problem, True, case)
    assert report.verdict is Verdict.WRONG_ANSWER
    found = report.cases[0].error.map.keys
    assert found.looked_at == found.explained > 0
    assert {cell.tile for cell in found.cells} == {1}
    assert {(cell.index[0], 1 if problem == "flash-forward" else cell.index[1]) for cell in found.cells} == where
    sentence = f"the error is what leaving out {keys.format(found.cells[0].block)} gives."
    assert sentence in found.sentence
    for text in (text_of(report), render_markdown(report).replace("\\", "")):
        assert sentence in text


def test_the_sentence_of_another_case_is_told_where_the_explained_one_has_none():
    report = judge("paged-decode", True, "index", "page-edges")
    assert [case.name for case in report.cases if case.error.map.keys] == ["page-edges"]
    assert "Case index (" in text_of(report)
    sentence = (
        "Keys Case page-edges: In all 4 failing rows looked at the error is what leaving out page 1 of 4 sequences"
    )
    assert sentence in text_of(report)


def test_a_known_mistake_is_told_before_the_keys():
    path = ROOT / "problems/flash-forward/submissions/wrong_answer/last_key_dropped.cu"
    options = Options(backend="cpu", cases=("block-plus-1-full",), seed=7)
    text = text_of(judge_submission(load_problem("flash-forward"), path.read_bytes(), "mine.cu", options, NullSink()))
    assert 0 < text.index("mutant match:") < text.index("Keys In all 127 failing rows looked at")


def test_a_right_kernel_has_no_map():
    assert all(case.error.map is None for case in judge("flash-forward", False, "block-plus-1-full").cases)
