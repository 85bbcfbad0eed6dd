import pytest

from judge.records import CompileReport, Diagnosis, DiagnosisKind
from judge.reports.style import Style
from judge.reports.text import render_text
from judge.verdict import Verdict
from tests.unit.reports.samples import compile_error_report, make_case, make_report, timed_report, wrong_report

PLAIN = Style(color=False, width=100)


def text(report, style=PLAIN, **settings):
    return render_text(report, style, **settings)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_verdict_is_the_first_word(verdict):
    report = make_report(verdict, cases=(make_case(verdict),))
    assert text(report).startswith(f"{verdict.label}  flash-forward  mine.cu\n")


def test_wrong_answer_says_what_where_hint_and_replay():
    lines = text(wrong_report())
    order = [
        "WRONG ANSWER",
        "tile-plus-1  (BH 2, N 33, D 64, causal false)",
        "64 of 4224 elements (1.5%)",
        "only BH = 0; only the last index of N (32)",
        "O[0, 32, 0]: got nan, want 0.1234568",
        "out of bounds: Thread reads K one row past its end.",
        "12 | float k = K[(j * 32 + r) * D + c];",
        "kernel flash_attn_fwd<64>, block (3, 0, 0), thread (5, 0, 0), K[0, 33, 5], 64 times",
        "mutant match: Your output equals a known mistake.",
        "Hint    Guard the load of the last tile.",
        "Replay  judge test mine.cu --problem flash-forward --case tile-plus-1 --seed 7 --backend cpu\n",
        "1 of 2 cases accepted",
    ]
    places = [lines.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)
    assert lines.count("Hint") == 1


def test_failed_cases_are_listed_and_the_others_when_asked():
    assert "book" not in text(wrong_report())
    assert "1 of 2 cases accepted; --verbose shows every case" in text(wrong_report())
    assert "book" in text(wrong_report(), verbose=True)


def test_verdict_stays_in_view_with_many_cases():
    hidden = [make_case(name=f"hidden-{i}", group="hidden") for i in range(50)]
    accepted = make_report(cases=(make_case(), *hidden))
    assert len(text(accepted).splitlines()) < 24
    assert "51 of 51 cases accepted; --verbose shows every case" in text(accepted)
    failed = make_report(
        Verdict.WRONG_ANSWER, cases=tuple(make_case(Verdict.WRONG_ANSWER, name=f"case-{i}") for i in range(50))
    )
    assert len(text(failed).splitlines()) < 32
    assert "hidden-49" in text(accepted, verbose=True)


def test_compile_error_shows_the_line_with_a_caret_under_the_column():
    lines = text(compile_error_report(), source="int a;\nint b;\n\tint c = fooo;\n").splitlines()
    place = lines.index('  mine.cu:3:9: error: identifier "fooo" is undefined')
    shown, caret = lines[place + 1], lines[place + 2]
    assert shown == "      3 |  int c = fooo;"
    assert caret.index("^") == shown.index("fooo") - 1
    assert "mine.cu:2:1: warning" in "\n".join(lines)


def test_compile_message_outside_the_file_has_no_excerpt():
    report = make_report(Verdict.COMPILE_ERROR, compile=compile_error_report().compile, cases=())
    assert "      3 |" not in text(report, source="one line\n")


def test_log_is_shown_when_no_message_was_understood():
    report = make_report(Verdict.COMPILE_ERROR, compile=CompileReport(ok=False, log="strange\x1b[2J"), cases=())
    assert "    strange\\x1b[2J" in text(report)


def test_figures_stand_in_aligned_columns():
    lines = text(timed_report(), Style(False, 110)).splitlines()
    title = next(line for line in lines if line.startswith("  case "))
    row = next(line for line in lines if line.startswith("  bench-64x4096"))
    for name, figure in (("median", "812.4 us"), ("GB/s", "3817"), ("roofline", "95%"), ("reads", "1.00x")):
        assert title.index(name) + len(name) == row.index(figure) + len(figure)


def test_narrow_terminal_drops_the_least_needed_columns():
    wide, narrow = text(timed_report(), Style(False, 110)), text(timed_report(), Style(False, 80))
    assert "x plain f32" in wide
    assert "x plain f32" not in narrow
    assert "median" in narrow


def test_color_changes_no_word():
    colored = text(wrong_report(), Style(color=True, width=100))
    assert "\x1b[" in colored
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text(wrong_report())


def test_hostile_text_is_inert():
    evil = Diagnosis(
        kind=DiagnosisKind.TRAP, message="a\x1b]0;owned\x07b", line=1, source="\x1b[2Jx\u202ey", kernel="k\x1b[31m"
    )
    case = make_case(Verdict.RUNTIME_ERROR, diagnoses=(evil,), printed="\x1b[1A\rfine\u200b")
    shown = text(make_report(Verdict.RUNTIME_ERROR, cases=(case,)))
    assert not set(shown) & {"\x1b", "\x07", "\r", "\u202e", "\u200b"}
    assert "\\x1b[2Jx\\u202ey" in shown


def test_nothing_is_told_twice():
    diagnosis = Diagnosis(kind=DiagnosisKind.OUT_OF_BOUNDS, message="Thread 3 reads past K.")
    case = make_case(Verdict.UNDEFINED_BEHAVIOR, message=diagnosis.message, diagnoses=(diagnosis,), error=None)
    report = make_report(Verdict.UNDEFINED_BEHAVIOR, message=f"case book: {case.message}", cases=(case,))
    assert text(report).count("Thread 3 reads past K.") == 1
    assert Verdict.UNDEFINED_BEHAVIOR.text.sentence in text(report)


def test_smallest_failing_case_is_told():
    large = make_case(Verdict.WRONG_ANSWER, name="large", message="large is wrong")
    small = make_case(Verdict.WRONG_ANSWER, name="small", message="small is wrong", parameters={"N": 3})
    shown = text(make_report(Verdict.WRONG_ANSWER, cases=(make_case(), large, small)))
    assert "Case  small  (N 3)" in shown


def test_warning_does_not_hide_behind_acceptance():
    warning = Diagnosis(kind=DiagnosisKind.UNINITIALIZED, message="A copy of nothing.", warning=True)
    assert "warning, uninitialized: A copy of nothing." in text(make_report(cases=(make_case(diagnoses=(warning,)),)))


def test_commands_are_shown_as_typed():
    shown = text(wrong_report(), as_typed=lambda line: line.replace("judge test", "python practice/judge.py test"))
    assert "Replay  python practice/judge.py test mine.cu" in shown
