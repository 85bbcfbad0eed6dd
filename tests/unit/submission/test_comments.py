"""The lexer of comments and literals on sources that close nothing."""

import pytest

from judge.submission.comments import code_only, comments_of


@pytest.mark.parametrize(
    ("source", "blanked"),
    [
        ('a R"( // no comment\nb', "a                  \n "),
        ('a R"d( )" // no comment', "a                      "),
        ('a "open // no comment\nb // c', "a                    \nb     "),
        ("a 'open // no comment\nb", "a                    \nb"),
        ('a "\\\nb // no comment\nc', "a   \n               \nc"),
        ('a "\\', "a   "),
    ],
)
def test_what_nothing_closes_ends_with_its_line_or_the_file(source, blanked):
    assert code_only(source) == blanked


@pytest.mark.parametrize("piece", ['R"(', 'R"d(', '"\\"', "'\\'", '"\\\n', 'LR"', "/*", "//\\\n", "\\", "1'", '"', "'"])
def test_a_source_of_openings_is_read_in_one_go(piece):
    """By the square of its length each of these would take minutes."""
    source = piece * (200_000 // len(piece))
    assert len(code_only(source)) == len(source)
    comments_of(source)
