import io

import pytest

from judge.reports.style import Style, inert, one_line, style_for, wants_color


@pytest.mark.parametrize(
    ("terminal", "environment", "color"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_color_follows_terminal_and_environment(terminal, environment, color):
    assert wants_color(terminal, environment) is color


def test_a_pipe_gets_no_color_and_a_fixed_width():
    assert style_for(io.StringIO(), {}) == Style(color=False, width=100)


def test_words_are_wrapped_but_never_broken():
    wrapped = Style(width=20).wrap("a/very/long/path/that/is/wider/than/the/terminal and words")
    assert "a/very/long/path/that/is/wider/than/the/terminal" in wrapped


def test_inert_keeps_text_and_escapes_what_terminals_obey():
    assert inert("größe\tx\n") == "größe\tx\n"
    assert inert("\x1b[0m\x00\x9b") == "\\x1b[0m\\x00\\x9b"
    assert inert("\u202e\u2066\ufeff") == "\\u202e\\u2066\\ufeff"
    assert inert("\r") == "\\x0d"


def test_one_line_has_one_line():
    assert one_line("a\nACCEPTED\tb\r") == "a\\nACCEPTED b\\x0d"
