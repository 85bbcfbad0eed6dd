"""From NVRTC's words to the submitter's: what is said, where, and what is left out.

The logs are NVRTC 13.5's own, shortened; tests/behaviour/test_compile.py has the compiler itself.
"""

import time

import pytest

from judge.compiler.log import clean_log
from judge.compiler.printing import CUT_NOTICE, LOG_CAP_BYTES
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from tests.unit.submission.example import CONSTANTS, KERNEL, PROBLEM

LAUNCH = "// @launch row_norm<D><<<N, 32>>>(x, out, N, scale)\n"


def cleaned(log, source=LAUNCH + KERNEL, *, failed=True):
    unit = build_unit(read_submission(source.encode(), "a.cu", PROBLEM), PROBLEM, (CONSTANTS,))
    return clean_log(log, unit, failed=failed)


def error(line, column, text, file="submission.cu"):
    return f"{file}({line}): error: {text}\n  {'z' * (column + 9)}\n  {' ' * (column - 1)}^\n\n"


def first(log, source=LAUNCH + KERNEL):
    message = cleaned(log, source).messages[0]
    return message.line, message.column, message.message


def test_undefined_argument_suggests_a_name():
    at = LAUNCH.index("out") + 1
    assert first(error(1, at, 'identifier "ot" is undefined')) == (
        1,
        at,
        'argument 2 of row_norm: identifier "ot" is undefined; did you mean out?',
    )


def test_undefined_name_unlike_any_lists_what_is_known():
    _, _, message = first(error(1, LAUNCH.index("out") + 1, 'identifier "zzzzzz" is undefined'))
    assert message.endswith("A launch line knows x, rows, out, N, scale, causal, D, PAGE")


def test_argument_count_replaces_the_conversions_it_causes():
    log = (
        error(
            1, LAUNCH.index("out") + 1, 'a value of type "float *" cannot be used to initialize an entity of type "int"'
        )
        + 'judge-plan(64): error: static assertion failed with "judge_plan_arguments"\n  x\n  ^\n'
        + '          detected during instantiation of class "judge_plan_arguments<judge_plan_takes, judge_plan_given> '
        + '[with judge_plan_takes=5, judge_plan_given=4]" at line 1 of judge-plan-0\n\n'
    )
    messages = cleaned(log).messages
    assert [(m.line, m.column, m.message) for m in messages] == [
        (1, LAUNCH.index("scale") + 1, "row_norm takes 5 arguments, the launch line gives 4")
    ]


def test_default_launch_has_no_place_and_says_what_to_write():
    source = KERNEL.replace("row_norm", "my_norm")
    line, column, message = first(error(1, 1, 'identifier "row_norm" is undefined', "default-launch"), source)
    assert (line, column) == (None, None)
    assert "default launch does not fit" in message
    assert "this file has my_norm" in message or "did you mean my_norm" in message
    assert "// @launch KERNEL<<<GRID, BLOCK>>>(ARGUMENTS)" in message


def test_run_time_value_as_template_argument():
    source = "// @launch row_norm<N><<<N, 32>>>(x, out, N, scale)\n" + KERNEL
    _, _, message = first(error(1, 21, 'identifier "N" is undefined'), source)
    assert message.startswith("N has a value only when the kernel runs")
    assert "D, PAGE" in message


def test_call_of_host_code_names_its_line():
    source = LAUNCH + "float helper(float a) { return a; }\n" + KERNEL
    _, _, message = first(error(5, 3, 'identifier "helper" is undefined'), source)
    assert "line 2 defines it as host code" in message


def test_open_brace_is_the_first_message():
    source = LAUNCH + KERNEL + "__device__ void f() {\n  if (true) {\n}\n"
    log = error(3, 2, "a __global__ function must have a void return type")
    line, column, message = first(log, source)
    assert (line, column) == (10, 21)
    assert "never closed" in message


def test_brace_too_many_is_named():
    source = LAUNCH + KERNEL.replace("return;", "return; }")
    line, column, message = first(error(6, 3, "this declaration has no storage class or type specifier"), source)
    assert (line, column) == (9, 1)
    assert "closes nothing" in message


def test_errors_of_the_plan_alone_still_say_something():
    log = error(1, 2, "something new about judge_plan_extent", "judge-plan-0")
    assert first(log) == (1, 12, "the launch could not be evaluated: something new about dim3")
    assert first("") == (None, None, "the compiler refused the source and gave no reason")


def test_same_error_of_two_plans_is_told_once():
    log = error(3, 2, "expected a ;")
    assert len(cleaned(log + log).messages) == 1


def test_warnings_of_the_plan_and_chatter_are_left_out():
    log = (
        'judge-plan(2): warning #177-D: variable "D" was declared but never referenced\n  x\n  ^\n\n'
        'Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"\n'
        "opt: Unknown command line argument '-enable-scalar-pre=false'.  Try: 'opt -help'\n"
        "ptxas info    : 0 bytes gmem\n"
    )
    assert cleaned(log, failed=False).text == ""


def test_control_characters_are_shown_escaped():
    clean = cleaned(error(3, 2, '#error directive: "\x1b[31m\u202e\x07"') + "\0\0")
    assert "\\x1b[31m\\u202e\\x07" in clean.text
    assert all(c.isprintable() or c == "\n" for c in clean.text)


def test_flood_is_cut_with_a_notice():
    log = "".join(error(3, 2, f"error number {i} " + "x" * 900) for i in range(2000))
    clean = cleaned(log)
    assert len(clean.text.encode()) <= LOG_CAP_BYTES
    assert clean.text.endswith(CUT_NOTICE)
    assert len(clean.messages) <= 100


def test_excerpt_of_a_long_line_is_short():
    source = LAUNCH + KERNEL + "// " + "y" * 5000 + "\n"
    clean = cleaned(error(10, 3000, "x"), source)
    assert max(map(len, clean.text.split("\n"))) < 200
    caret, marked = clean.text.split("\n")[2], clean.text.split("\n")[1]
    assert marked[caret.index("^")] == "y"


def test_forged_places_point_nowhere():
    log = error(1, 1, "#error directive", "/etc/passwd") + error(99999, 1, "x")
    messages = cleaned(log).messages
    assert messages[0].line is None
    assert cleaned(log).text.count("/etc/passwd") == 0


def test_what_only_looks_unused_because_of_an_error_is_not_told():
    warning = 'submission.cu(2): warning #177-D: variable "kKeys" was declared but never referenced\n  x\n  ^\n\n'
    both = warning + error(1, 12, 'identifier "row_norm" is undefined')
    assert [message.severity for message in cleaned(both).messages] == ["error"]
    assert [message.severity for message in cleaned(warning, failed=False).messages] == ["warning"]


def test_a_suggestion_ends_its_sentence_once():
    source = KERNEL.replace("row_norm", "row_nrm")
    _, _, message = first(error(1, 1, 'identifier "row_norm" is undefined', "default-launch"), source)
    assert "did you mean row_nrm? The default is" in message


@pytest.mark.parametrize(
    "log",
    [
        'judge-plan-99(1): error: no instance of function template "k" matches\n',
        "judge-plan-99999999999999999999(1): error: x\njudge-plan-x(1): error: instance of\n",
        "submission.cu(1): error: #error: judge_plan_takes=5, judge_plan_given=2] of judge-plan-99\n",
        "submission.cu(1): error: #error: judge_plan_takes=5, judge_plan_given=99] of judge-plan-0\n",
        "submission.cu(1): error: #error: judge_plan_takes=-9, judge_plan_given=" + "9" * 5000 + "] of judge-plan-0\n",
        "submission.cu(" + "9" * 5000 + "): error: x\n",
    ],
)
def test_a_log_that_speaks_of_launches_that_are_not_there_is_read_all_the_same(log):
    clean = cleaned(log)
    assert any(message.severity == "error" for message in clean.messages)


def test_beginnings_of_a_count_without_end_are_read_in_no_time():
    began = time.process_time()
    cleaned("submission.cu(1): error: " + "judge_plan_takes=1, judge_plan_given=2] " * 12_000)
    assert time.process_time() - began < 3.0
