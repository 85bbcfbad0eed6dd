import pytest

from judge.records import CompileReport, Diagnosis, DiagnosisKind, ErrorSummary, LaunchReport
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
        "mutant match: Your output equals a known mistake: write the tail.",
        "out of bounds: Thread reads K one row past its end.",
        "12 | float k = K[(j * 32 + r) * D + c];",
        "kernel flash_attn_fwd<64>, block (3, 0, 0), thread (5, 0, 0), K[0, 33, 5], 64 times",
        "Hint    Write the tail.",
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
    assert "0 of 50 cases accepted, 10 of 50 that failed shown; --verbose shows every case" in text(failed)
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


def test_warnings_of_accepted_cases_are_told_once_beside_the_fault_of_another():
    mild = Diagnosis(kind=DiagnosisKind.RACE, message="Both leave the same value.", line=7, warning=True)
    fault = Diagnosis(kind=DiagnosisKind.RACE, message="No barrier lies between.", line=7)
    wrong = Verdict.UNDEFINED_BEHAVIOR
    accepted = [make_case(name=f"short-{k}", diagnoses=(mild,)) for k in range(4)]
    shown = text(make_report(wrong, cases=(*accepted, make_case(wrong, name="long", diagnoses=(fault,)))))
    assert shown.count("Both leave the same value.") == 1
    assert "in 4 accepted cases: short-0, short-1, short-2, ..." in shown
    assert shown.index("No barrier lies between.") < shown.index("Both leave the same value.")


def test_commands_are_shown_as_typed():
    shown = text(wrong_report(), as_typed=lambda line: line.replace("judge test", "python practice/judge.py test"))
    assert "Replay  python practice/judge.py test mine.cu" in shown


@pytest.mark.parametrize(
    ("mismatches", "total", "shown"),
    [
        (8959, 8960, "8959 of 8960 elements (99.9%)"),
        (8960, 8960, "8960 of 8960 elements (all)"),
        (1, 512000, "1 of 512000 elements (under 0.1%)"),
        (1, 1, "1 of 1 element (all)"),
    ],
)
def test_the_share_of_wrong_elements_is_never_rounded_to_all_or_none(mismatches, total, shown):
    case = make_case(Verdict.WRONG_ANSWER, error=ErrorSummary(mismatches=mismatches, total=total))
    assert f"Wrong  {shown}\n" in text(make_report(Verdict.WRONG_ANSWER, cases=(case,)))


def test_large_multiples_are_written_out():
    case = make_case(read_amplification=2048.0, error=ErrorSummary(naive_multiple=512345.0))
    shown = text(make_report(cases=(case,)))
    assert "2,048x" in shown
    assert "512,345x" in shown
    assert "e+" not in shown


def test_words_count_in_singular_and_plural():
    assert "1 of 1 case accepted" in text(make_report())
    one_more = tuple(Diagnosis(kind=DiagnosisKind.TRAP, message=f"fault {i}") for i in range(4))
    case = make_case(Verdict.RUNTIME_ERROR, diagnoses=one_more)
    assert "and 1 more diagnosis\n" in text(make_report(Verdict.RUNTIME_ERROR, cases=(case,)))


def test_what_the_kernel_printed_is_shown_for_accepted_cases_too_and_is_capped():
    many = "\n".join(f"line {i}" for i in range(25))
    cases = tuple(make_case(name=f"case-{i}", printed=many if i == 0 else "short") for i in range(5))
    shown = text(make_report(cases=cases))
    assert "  Printed in case-0, cpu:\n    line 0\n" in shown
    assert "    line 19\n    and 5 more lines\n" in shown
    assert "Printed in case-2, cpu:\n    short\n" in shown
    assert "Printed in case-3" not in shown
    assert "2 more cases printed; --verbose or --case NAME shows it" in shown
    assert "Printed in case-4" in text(make_report(cases=cases), verbose=True)


def test_the_told_case_prints_first_and_alone():
    good = make_case(name="good", printed="from the good one")
    bad = make_case(Verdict.WRONG_ANSWER, name="bad", printed="from the bad one")
    shown = text(make_report(Verdict.WRONG_ANSWER, cases=(good, bad)))
    assert "from the bad one" in shown
    assert "from the good one" not in shown
    assert "1 more case printed" in shown


def test_a_refused_launch_is_shown_like_a_compile_error_with_its_line_and_caret():
    launches = (LaunchReport(text="k<<<1, 2048>>>(x)", line=2, kernel="k"),)
    case = make_case(
        Verdict.LAUNCH_ERROR, message="line 2: block of 2048 threads", line=2, column=19, error=None, launches=launches
    )
    report = make_report(Verdict.LAUNCH_ERROR, message=f"case book: {case.message}", cases=(case,))
    lines = text(report, source="// problem: x\n// @launch k<<<1, 2048>>>(x)\n").splitlines()
    place = lines.index("  mine.cu:2:19: error: block of 2048 threads")
    assert lines[place + 1] == "      2 | // @launch k<<<1, 2048>>>(x)"
    assert lines[place + 2].index("^") == lines[place + 1].index("2048")
    assert sum("block of 2048 threads" in line for line in lines) == 1
    assert not any(line.startswith("  Launch") for line in lines)


def test_cases_that_were_not_run_are_counted_and_listed_only_when_asked():
    limit = tuple(make_case(Verdict.TIME_LIMIT, name=f"slow-{i}", error=None) for i in range(2))
    left_out = tuple(make_case(Verdict.NOT_RUN, name=f"left-{i}", error=None) for i in range(3))
    report = make_report(Verdict.TIME_LIMIT, cases=limit + left_out)
    assert "0 of 5 cases accepted, 3 not run because two before them had to be killed" in text(report)
    assert "left-0" not in text(report)
    assert "left-2  not run" in text(report, verbose=True)


def test_resources_say_what_they_were_compiled_for():
    report = timed_report()
    compiled = report.compile.model_copy(update={"kernels_arch": "sm_90"})
    shown = text(report.model_copy(update={"compile": compiled}), verbose=True)
    assert "  Resources of the kernels, optimized for sm_90:\n" in shown
    assert "gqa<128>" in shown
    assert "Resources" not in text(report)


def test_ratios_of_wrong_values_are_left_out():
    def row(verdict):
        case = make_case(verdict, read_amplification=7.5)
        shown = render_text(make_report(verdict, cases=(case,)), Style(False, 200), verbose=True)
        return ("7.50x" in shown, "1.04x" in shown)

    assert row(Verdict.ACCEPTED) == (True, True)
    assert row(Verdict.REQUIREMENT_UNMET) == (True, True)
    assert row(Verdict.WRONG_ANSWER) == (False, False)
    assert row(Verdict.UNDEFINED_BEHAVIOR) == (False, False)
