"""One launch line: what is taken, what is refused and at which column."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import SubmissionError
from judge.submission.launchline import directive_of, read_launch


def parts(text):
    launch = read_launch(text, 7, 12)
    shared = launch.shared.text if launch.shared else None
    return (
        launch.kernel.text,
        launch.grid.text,
        launch.block.text,
        shared,
        [argument.text for argument in launch.arguments],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k<<<1,2>>>()", ("k", "1", "2", None, [])),
        ("k <<< 1 , 2 >>> ( a , b ) ;", ("k", "1", "2", None, ["a", "b"])),
        ("k<D, kSplits><<<1, 2, 3>>>(a)", ("k<D, kSplits>", "1", "2", "3", ["a"])),
        ("k<V<float>><<<1, 2>>>(a)", ("k<V<float>>", "1", "2", None, ["a"])),
        ("a::b::k<D><<<1, 2>>>(a)", ("a::b::k<D>", "1", "2", None, ["a"])),
        ("k<<<dim3(a, f(b, c)), 2>>>(g[1, 2], {1, 2})", ("k", "dim3(a, f(b, c))", "2", None, ["g[1, 2]", "{1, 2}"])),
        ("k<<<max<int, 3>(N), 2>>>(a)", ("k", "max<int, 3>(N)", "2", None, ["a"])),
        ("k<<<f<g<int>>(3), 2>>>(a)", ("k", "f<g<int>>(3)", "2", None, ["a"])),
        ("k<<<f<g<h<int>>>(3), 2>>>(a)", ("k", "f<g<h<int>>>(3)", "2", None, ["a"])),
        ("k<<<rows<D>, 2>>>(a)", ("k", "rows<D>", "2", None, ["a"])),
        ("k<<<1, 2>>>(N < 3, a > b)", ("k", "1", "2", None, ["N < 3", "a > b"])),
        ("k<<<N >> 2, 2>>>(N >> 1)", ("k", "N >> 2", "2", None, ["N >> 1"])),
        ("k<<<1, 2>>>(')', \"a,(\", a)", ("k", "1", "2", None, ["')'", '"a,("', "a"])),
        ("k<<<1, 2>>>((const float4*)q + N, /* , */ b)", ("k", "1", "2", None, ["(const float4*)q + N", "/* , */ b"])),
    ],
)
def test_parts(text, expected):
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "words", "at"),
    [
        ("k<<1, 2>>>(a)", "no <<<", 1),
        ("k(a)", "no <<<", 4),
        ("<<<1, 2>>>(a)", "the kernel's name before <<< is empty", 0),
        ("3k<<<1, 2>>>(a)", "no kernel name", 0),
        ("k x<<<1, 2>>>(a)", "does not belong", 2),
        ("k<<<1, 2>>(a)", "no >>>", 8),
        ("k<<<1, 2)", "no >>>", 9),
        ("k<<<1, 2>>>", "arguments in parentheses are missing", 11),
        ("k<<<1, 2>>>(a", "'(' is never closed", 11),
        ("k<<<1, 2>>>(a))", "text after", 14),
        ("k<<<1, 2>>>(a) b", "text after", 14),
        ("k<<<1>>>(a)", "needs a grid and a block", 5),
        ("k<<<>>>(a)", "needs a grid and a block", 4),
        ("k<<<1, >>>(a)", "the block is empty", 6),
        ("k<<<1, 2, 3, s>>>(a)", "a stream", 12),
        ("k<<<1, 2>>>(a,,b)", "argument 2 is empty", 14),
        ("k<<<1, 2>>>(a,)", "argument 2 is empty", 14),
        ("k<<<dim3(1, 2, 2>>>(a)", "'(' is never closed", 8),
        ("k<<<1, 2>>>(a) // note", "a comment inside the line", 15),
        ("k<<<1, 2>>>(f(a])", "does not close", 15),
    ],
)
def test_refusals_point_at_the_place(text, words, at):
    with pytest.raises(SubmissionError) as caught:
        read_launch(text, 7, 12)
    assert words in str(caught.value)
    assert "@launch KERNEL<<<GRID, BLOCK" in str(caught.value)
    assert (caught.value.line, caught.value.column) == (7, 12 + at)


def test_columns_of_expressions():
    launch = read_launch("k<D><<<N, dim3(2, 3),  8>>>(a,  b + 1)", 7, 12)
    places = [launch.kernel, launch.grid, launch.block, launch.shared, *launch.arguments]
    assert [(p.line, p.column) for p in places] == [(7, 12), (7, 19), (7, 22), (7, 35), (7, 40), (7, 44)]


@given(st.text(alphabet="k<>(),[]{}a1 \"'/*:;N", max_size=60))
def test_any_text_is_read_or_refused(text):
    column: int | None = None
    try:
        launch = read_launch(text, 1, 12)
    except SubmissionError as error:
        column = error.column
    else:
        for piece in (launch.kernel, launch.grid, launch.block, *launch.arguments):
            assert text[piece.column - 12 :].startswith(piece.text)
        return
    assert column is not None
    assert 12 <= column <= 12 + len(text)


def test_a_line_that_would_take_long_to_read_is_refused():
    for text in ("a<" * 60_000, "/*" * 60_000, "()" * 60_000, ">>>(" * 30_000):
        began = time.process_time()
        with pytest.raises(SubmissionError, match="at most 4096"):
            read_launch(f"k<<<1, 64>>>({text})", 1, 1)
        assert time.process_time() - began < 0.5


def test_the_longest_line_is_read_in_no_time():
    for text in ("a<" * 2030, "a<(" * 1350, "()," * 1350, ">>>(" * 1015):
        began = time.process_time()
        with contextlib.suppress(SubmissionError):
            read_launch(f"k<<<1, 64>>>({text})", 1, 1)
        assert time.process_time() - began < 2.0


def test_directives_in_block_comments_are_found_without_effort():
    assert directive_of("/* @launch " * 30_000, 1, 1) is None
    with pytest.raises(SubmissionError, match="block comment") as caught:
        directive_of("/* text @launch\n   @launch k<<<1, 2>>>(x) */", 3, 5)
    assert (caught.value.line, caught.value.column) == (4, 4)
