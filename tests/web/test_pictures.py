"""Pictures say what their tables say, to the eye and to a screen reader."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from judge.examples import case_generator
from judge.records import Diagnosis, DiagnosisKind, ErrorSummary, Mismatch, Rates, Timing
from judge.verdict import Verdict
from judge.verification.failuremap import map_failures
from judge.web.assets import FOLDER
from judge.web.blocktable import draw_block_table
from judge.web.failuremap import draw_map
from judge.web.keymap import draw_keys
from judge.web.markup import has_math, render_markdown
from judge.web.results import make_result, remarks_at_lines
from judge.web.roofline import draw_bandwidth, draw_roofline
from tests.unit.reports.samples import keys_report, make_case, make_report

RATES = Rates(read_gbs=4000.0, copy_gbs=3500.0, f32_tflops=50.0, f16_tflops=700.0, overhead_us=2.0, samples=9)


def elements(picture, tag, class_=None):
    root = ElementTree.fromstring(str(picture))
    return [one for one in root.iter(tag) if class_ is None or one.get("class") == class_]


def timed(name, median_us, flops, bytes_=4_000_000_000, gbs=None, **changes):
    values = {"median_us": median_us, "p10_us": median_us, "p90_us": median_us, "samples": 50, "rel_ci95": 0.01}
    timing = Timing(**values, cold=True, rates=RATES, minimum_bytes=bytes_, minimum_flops=flops, **changes)
    return make_case(name=name, group="bench", backend="cuda", timing=timing, bandwidth_gbs=gbs)


def test_a_map_has_a_picture_cell_and_a_table_row_for_every_wrong_part():
    want = np.zeros((3, 70, 4))
    got = want.copy()
    got[2, 64:] = 1.0
    drawn = draw_map(map_failures("O", ("BH", "N", "D"), got, want, got != want))
    links = [link.get("href") for link in elements(drawn.picture, "a")]
    assert links == [f"#{row.id}" for row in drawn.rows]
    assert [row.where for row in drawn.rows] == ["BH 2, N 64 to 67", "BH 2, N 68 to 69"]
    assert "2 of 54 cells hold wrong elements" in drawn.picture


def test_a_roofline_puts_a_dot_where_the_figures_say():
    report = make_report(cases=(timed("memory", 2000.0, 400_000_000), timed("compute", 2000.0, 40_000_000_000_000)))
    picture = draw_roofline(report)
    dots = elements(picture, "circle")
    titles = [dot.find("title").text for dot in dots]
    assert titles[0] == "memory: 200 GFLOP/s at 0.1 operations a byte"
    assert float(dots[0].get("cx")) < float(dots[1].get("cx"))
    assert float(dots[0].get("cy")) > float(dots[1].get("cy"))
    (roof,) = elements(picture, "polyline")
    heights = [float(point.split(",")[1]) for point in roof.get("points").split()]
    assert heights[0] > heights[1] == heights[2]


def test_the_roof_of_float16_is_that_of_tensor_cores():
    for arithmetic, roof in (("f32", "50,000 GFLOP/s"), ("f16", "700,000 GFLOP/s")):
        large = timed("large", 2000.0, 400_000_000_000_000, arithmetic=arithmetic)
        assert roof in {text.text for text in elements(draw_roofline(make_report(cases=(large,))), "text")}


def test_a_refused_time_and_one_without_work_are_no_dots():
    cases = (timed("odd", 1.0, 10, refused="faster than memory"), timed("unknown", 1.0, 0))
    assert draw_roofline(make_report(cases=cases)) is None
    assert draw_bandwidth(make_report(cases=cases)) is None


def test_bars_are_as_long_as_their_bandwidth():
    picture = draw_bandwidth(make_report(cases=(timed("a", 1.0, 1, gbs=1000.0), timed("b", 1.0, 1, gbs=3000.0))))
    widths = [float(bar.get("width")) for bar in elements(picture, "rect", "bar")]
    assert widths[1] == pytest.approx(3 * widths[0], rel=1e-4)


def told(problem, name, **changes):
    case = problem.case(name)
    return make_case(Verdict.WRONG_ANSWER, name=name, parameters=dict(case.parameters), **changes)


def test_a_block_table_is_that_of_the_sequence_that_failed(problems):
    problem = problems["paged-decode"]
    case = next(c for c in problem.cases if int(c.parameters["num_seqs"]) > 2 and c.name != "book")
    made = problem.generate(case, case_generator(case, 7))
    first = Mismatch(output="out", index=(2, 0, 0), got=0.0, want=1.0)
    drawn = draw_block_table(problem, told(problem, case.name, error=ErrorSummary(mismatches=1, first=first)), 7)
    assert drawn.sequence == 2
    assert [row.physical for row in drawn.rows] == made["block_table"][2].tolist()
    assert drawn.context == int(made["context_lens"][2])
    unused = [row for row in drawn.rows if row.physical == -1]
    assert all(row.tokens == "" and "do not read" in row.remark for row in unused)
    numbers = [text.text for text in elements(drawn.picture, "text", "page-number")]
    assert numbers == [str(row.physical) for row in drawn.rows]


def test_the_page_that_a_fault_touched_is_marked(problems):
    problem = problems["paged-decode"]
    fault = Diagnosis(kind=DiagnosisKind.OUT_OF_BOUNDS, message="", buffer="k_cache", index=(-2048,))
    drawn = draw_block_table(problem, told(problem, "context-16", diagnoses=(fault,), error=None), 7)
    assert [row.physical for row in drawn.rows if "touched" in row.remark] == [-1]


def test_other_problems_have_no_block_table(problems):
    assert draw_block_table(problems["flash-forward"], told(problems["flash-forward"], "book"), 7) is None


def test_both_sides_of_a_race_stand_at_their_lines():
    race = Diagnosis(
        kind=DiagnosisKind.RACE,
        message="Thread (1, 0, 0) reads s[0], which thread (0, 0, 0) wrote at line 2; no barrier lies between.",
        line=4,
        thread=(1, 0, 0),
    )
    report = make_report(Verdict.UNDEFINED_BEHAVIOR, cases=(make_case(Verdict.UNDEFINED_BEHAVIOR, diagnoses=(race,)),))
    lines = make_result(report, "a\nb\nc\nd\n").lines
    assert [(line.number, len(line.notes), len(line.referred)) for line in lines] == [
        (1, 0, 0), (2, 0, 1), (3, 0, 0), (4, 1, 0),
    ]  # fmt: skip


def test_a_race_is_told_once_whichever_of_its_lines_came_first():
    def race(here, there):
        words = f"Thread (1, 0, 0) reads s[0], which thread (0, 0, 0) wrote at line {there}; no barrier lies between."
        return Diagnosis(kind=DiagnosisKind.RACE, message=words, line=here)

    wrong = Verdict.UNDEFINED_BEHAVIOR
    found = [(race(32, 38), race(38, 32)), (race(38, 32), race(38, 40))]
    cases = tuple(make_case(wrong, name=name, diagnoses=two) for name, two in zip("ab", found, strict=True))
    report = make_report(wrong, cases=cases)
    notes = make_result(report, "x\n" * 50).notes
    assert [(note.line, note.others, note.cases) for note in notes] == [
        (32, (38,), ("a", "b")),
        (38, (40,), ("b",)),
    ]
    assert [line for line, _ in remarks_at_lines(report)] == [32, 38]


def test_a_long_source_is_shown_around_its_remarks():
    fault = Diagnosis(kind=DiagnosisKind.OUT_OF_BOUNDS, message="", line=700)
    report = make_report(Verdict.UNDEFINED_BEHAVIOR, cases=(make_case(Verdict.UNDEFINED_BEHAVIOR, diagnoses=(fault,)),))
    result = make_result(report, "x\n" * 1000)
    assert [line.number for line in result.lines] == list(range(695, 706))
    assert (result.lines[0].gap, result.left_out) == (694, 295)


def test_the_same_fault_in_many_cases_is_told_once():
    fault = Diagnosis(kind=DiagnosisKind.NONFINITE, message="64 of 64 are NaN", hint="Subtract the maximum.")
    other = fault.model_copy(update={"message": "7 of 9 are NaN"})
    cases = [make_case(Verdict.WRONG_ANSWER, name=n, diagnoses=(d,)) for n, d in (("a", fault), ("b", other))]
    (note,) = make_result(make_report(Verdict.WRONG_ANSWER, cases=tuple(cases)), "x").notes
    assert note.cases == ("a", "b")


def test_a_warning_is_told_apart_from_the_error_at_its_line():
    mild = Diagnosis(kind=DiagnosisKind.RACE, message="Both leave the same value.", line=7, warning=True)
    fault = Diagnosis(kind=DiagnosisKind.RACE, message="No barrier lies between.", line=7)
    wrong = Verdict.UNDEFINED_BEHAVIOR
    cases = (make_case(name="short", diagnoses=(mild,)), make_case(wrong, name="long", diagnoses=(fault,)))
    notes = make_result(make_report(wrong, cases=cases), "x\n" * 9).notes
    assert [(note.message, note.warning, note.cases) for note in notes] == [
        ("No barrier lies between.", False, ("long",)),
        ("Both leave the same value.", True, ("short",)),
    ]


def test_every_problem_has_a_figure_that_needs_no_style_of_its_own(problems):
    for problem in problems.values():
        text = (problem.folder / "figure.svg").read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.get("role") == "img"
        assert len(root.get("aria-label")) > 60
        assert not re.search(r"style=|<style|<script|on\w+=|href=|#[0-9a-f]{3,6}", text)
        width, height = float(root.get("width")), float(root.get("height"))
        for one in root.iter("{http://www.w3.org/2000/svg}rect"):
            assert float(one.get("x")) + float(one.get("width")) <= width
            assert float(one.get("y")) + float(one.get("height")) <= height


def test_formulas_keep_their_tex_beside_plain_text():
    html = render_markdown("# Title\nFor $i \\le N$ and\n$$\nO = \\frac{o}{\\ell}\n$$\nbut `$x$` is code.")
    assert "Title" not in html
    assert 'data-tex="i \\le N"' in html
    assert ">i ≤ N</span>" in html
    assert 'class="math block"' in html
    assert "<code>$x$</code>" in html
    assert has_math("$x$")
    assert not has_math("5 $ and")


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "[x](javascript:alert(1))", "<img src=x onerror=alert(1)>", "![x](http://a/b.png)",
     "$<script>$", '$" onload="x$', "<svg onload=alert(1)>"],
)  # fmt: skip
def test_a_statement_brings_no_markup_of_its_own(text):
    html = str(render_markdown(text))
    tags = re.findall(r"<(\w+)([^>]*)>", html)
    assert {name for name, _ in tags} <= {"p", "span", "a"}
    assert all("javascript:" not in rest for _, rest in tags)
    assert all("onload=" not in re.sub(r'"[^"]*"', "", rest) for _, rest in tags)


def test_a_cell_is_darker_the_larger_its_error_and_darkest_without_a_number():
    want = np.zeros((1, 4))
    got = np.array([[100.0, 12.0, 0.5, np.nan]])
    drawn = draw_map(map_failures("O", ("BH", "N"), got, want, got != want))
    shown = [cell.get("class") for link in elements(drawn.picture, "a") for cell in link]
    assert shown == ["map-wrong-4", "map-wrong-3", "map-wrong-1", "map-wrong-4"]


def test_a_map_of_keys_has_a_cell_where_the_table_says_and_leads_there():
    drawn = draw_keys(keys_report().cases[0].error.map, 5)
    assert [(row.where, row.keys, row.rows, row.what, row.share) for row in drawn.rows] == [
        ("BH 1, N 64 to 95", "keys 32 to 63", "4 of 4", "left out", "99.9%"),
        ("BH 1, N 96 to 127", "key 40", "1 of 3", "counted twice", "95.0%"),
        ("BH 1, N 96 to 127", "keys 128 to 129", "1 of 3", "0.75 times their weight", "99.0%"),
    ]
    links = elements(drawn.picture, "a")
    assert [link.get("href") for link in links] == [f"#{row.id}" for row in drawn.rows]
    cells = [cell for link in links for cell in link]
    assert [cell.get("class") for cell in cells] == ["map-wrong-4", "map-wrong-2", "map-wrong-2"]
    assert [float(cell.get("x")) - float(cells[0].get("x")) for cell in cells] == [0, 0, 60]
    assert [float(cell.get("y")) - float(cells[0].get("y")) for cell in cells] == [0, 20, 20]
    assert cells[0].find("{*}title").text == "BH 1, N 64 to 95: keys 32 to 63 left out in 4 of 4 rows looked at"
    assert "key 0 to 129, 32 in a cell" in drawn.picture
    assert "one of them explains 6 of 7 failing rows" in drawn.picture


def test_a_map_of_pages_lays_heads_over_one_another_and_names_blocks():
    drawn = draw_keys(keys_report(paged=True).cases[0].error.map)
    assert [row.keys for row in drawn.rows] == ["page 40 (block 7)", "page 40 (block 9)"]
    cells = [cell for link in elements(drawn.picture, "a") for cell in link]
    assert [(float(cell.get("x")), float(cell.get("y"))) for cell in cells] == [(475, 27), (475, 47)]
    assert "page 0 to 62, 2 in a cell" in drawn.picture


def test_without_blame_there_is_no_map_of_keys():
    want = np.zeros((2, 3, 8))
    assert draw_keys(map_failures("O", ("BH", "N", "D"), want + 1, want, want == 0)) is None


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_larger_errors_stand_out_more_in_light_and_in_dark():
    sheet = (FOLDER / "styles/site.css").read_text()
    colors = {name: re.findall(rf"--{name}: (#\w+);", sheet) for name in ["good-back", *(f"error-{n}" for n in "1234")]}
    assert {len(found) for found in colors.values()} == {3}
    for back, *ramp in zip(*colors.values(), strict=True):
        against_right = [contrast(back, one) for one in ramp]
        assert against_right[0] > 1.7
        assert against_right[2] > 4.5
        assert all(b > 1.5 * a for a, b in pairwise(against_right))
