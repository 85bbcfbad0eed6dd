"""Bytes to submission: encodings, sizes, directives."""

import pytest

from judge.errors import SubmissionError
from judge.submission.read import MAX_BYTES, read_submission
from tests.unit.submission.example import KERNEL, PROBLEM, WHOLE_PROGRAM


def read(data, problem=PROBLEM):
    return read_submission(data if isinstance(data, bytes) else data.encode(), "a.cu", problem)


@pytest.mark.parametrize(
    ("data", "words", "line", "column"),
    [
        (b"", "starter: judge start example", None, None),
        (b"\xef\xbb\xbf \r\n\t", "empty", None, None),
        (b"a" * (MAX_BYTES + 1), f"{MAX_BYTES + 1} bytes", None, None),
        (b"ab\nc\xffd", "0xff at byte 4", 2, 2),
        ("// é\n".encode() + b"\xc3(", "0xc3 at byte 6", 2, 1),
        (b"\xef\xbb\xbfint a;\n\xfe", "0xfe at byte 10", 2, 1),
        (b"int a;\nin\x00t b;" + b" " * 40, "NUL byte at byte 9", 2, 3),
        ("int a;\n".encode("utf-16"), "UTF-16", None, None),
        ("int a;\n".encode("utf-16-be"), "UTF-16", None, None),
    ],
)
def test_refused_bytes(data, words, line, column):
    with pytest.raises(SubmissionError) as caught:
        read(data)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_largest_file_is_read():
    source = KERNEL + "/" * (MAX_BYTES - len(KERNEL))
    assert len(read(source).source) == MAX_BYTES


def test_byte_order_mark_is_no_column():
    submission = read(b"\xef\xbb\xbf// @launch row_norm<D><<<1, 2>>>(x, out, N, scale)\n" + KERNEL.encode())
    assert submission.launches[0].kernel.column == 12
    assert submission.source.startswith("//")


def test_carriage_returns_change_nothing():
    source = "// @workspace float w[N]\n// @launch row_norm<D><<<1, 2>>>(x, out, N, scale)\n" + KERNEL
    plain, dos = read(source), read(source.replace("\n", "\r\n"))
    assert plain.launches == dos.launches
    assert plain.workspaces == dos.workspaces
    assert dos.device_source.count("\n") == plain.device_source.count("\n")


def test_default_launch_has_no_line():
    submission = read(KERNEL)
    assert submission.default_launch
    (launch,) = submission.launches
    assert launch.line is None
    assert launch.kernel.text == "row_norm<D>"
    assert [argument.text for argument in launch.arguments] == ["x", "out", "N", "scale"]
    default = "row_norm<D><<<"
    assert any("no @launch line: the problem's default launch counts, " + default in note for note in submission.notes)


def test_forgotten_at_sign_is_noted():
    submission = read("// launch row_norm<D><<<1, 2>>>(x)\n" + KERNEL)
    assert any("line 1 looks like a launch line" in note for note in submission.notes)


def test_launches_and_workspaces_in_order_with_places():
    submission = read(
        "// @workspace float part[N * D]\n"
        "  //@workspace unsigned int* ptrs[ 2*N ];\n"
        "/// @launch a<<<1, 2>>>(x)\n" + KERNEL + "void f() {} // @launch ns::b<D, 3><<<dim3(N, 2), 64, 8>>>()\n"
    )
    assert [(w.ctype, w.name, w.count.text, w.line) for w in submission.workspaces] == [
        ("float", "part", "N * D", 1),
        ("unsigned int*", "ptrs", "2*N", 2),
    ]
    assert submission.workspaces[1].ctype_column == 16
    first, second = submission.launches
    assert (first.kernel.text, first.line, first.kernel.column) == ("a", 3, 13)
    assert second.kernel.text == "ns::b<D, 3>"
    assert second.line == 12
    assert second.arguments == ()
    assert second.shared is not None
    assert second.shared.text == "8"


def test_directive_in_a_string_is_none():
    assert read('const char* s = "// @launch a<<<1, 2>>>()";\n' + KERNEL).default_launch


def test_other_at_words_are_ordinary_comments():
    assert read("// @brief sums rows\n// @author me\n// mail a@launch.org\n" + KERNEL).default_launch


@pytest.mark.parametrize(
    ("source", "words", "line", "column"),
    [
        ("// @lauch a<<<1, 2>>>()", "did you mean @launch", 1, 4),
        ("\n  // @Launch a<<<1, 2>>>()", "did you mean @launch", 2, 6),
        ("// @workspaces float w[3]", "did you mean @workspace", 1, 4),
        ("/* text\n   @launch a<<<1, 2>>>() */", "block comment", 2, 4),
        ("// @launch a<<<1, \\\n 2>>>()", "backslash", 1, 1),
        ("// @workspace float w[3]\n// @workspace int w[3]", "already a workspace called w", 2, 19),
        ("// @workspace float x[3]", "x is a buffer", 1, 21),
        ("// @workspace float N[3]", "N is a parameter", 1, 21),
        ("// @workspace float int[3]", "word of CUDA", 1, 21),
        ("// @workspace float w", "no [COUNT]", 1, 22),
        ("// @workspace float w[]", "count is empty", 1, 23),
        ("// @workspace float w[N][D]", "one dimension", 1, 25),
        ("// @workspace float w[N", "never closed", 1, 22),
        ("// @workspace w[N]", "needs a type", 1, 15),
        ("// @launch a<<<1, 2>>>()\n" * 17, "more than 16 launches", 17, 1),
        ("\n".join(f"// @workspace int w{i}[1]" for i in range(9)), "more than 8 workspaces", 9, 1),
    ],
)
def test_refused_directives(source, words, line, column):
    with pytest.raises(SubmissionError) as caught:
        read(source + "\n" + KERNEL)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_whole_program_is_accepted():
    submission = read(WHOLE_PROGRAM)
    assert submission.kernels == ("row_norm",)
    assert submission.default_launch
    assert len(submission.device_source) == len(submission.source)
