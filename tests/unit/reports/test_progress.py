import io

from judge.records import CompileReport
from judge.reports.progress import LiveProgress, PlainProgress, progress_sink
from judge.reports.style import Style
from judge.verdict import Verdict
from tests.unit.reports.samples import make_case, make_report


class Terminal(io.StringIO):
    def isatty(self):
        return True


def play(sink):
    sink.compiling("cpu")
    sink.compiled("cpu", CompileReport(ok=True, seconds=0.5, cached=True))
    sink.case_started("cpu", "book", 1, 2)
    sink.case_finished(make_case(), 1, 2)
    sink.case_started("cpu", "tail", 2, 2)
    sink.case_finished(make_case(Verdict.WRONG_ANSWER, name="tail"), 2, 2)
    sink.note("the default launch is used")
    sink.finished(make_report())


def test_elsewhere_one_plain_line_for_what_ended():
    stream = io.StringIO()
    play(PlainProgress(stream, Style()))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "cpu: compiled in 0.50 s (cached)"
    assert [line.split()[:3] for line in lines[1:3]] == [["[1/2]", "cpu", "accepted"], ["[2/2]", "cpu", "wrong"]]
    assert lines[3] == "note: the default launch is used"
    assert len(lines) == 4
    assert "\r" not in stream.getvalue()


def test_on_a_terminal_one_live_line_and_failures_stay():
    stream = Terminal()
    play(LiveProgress(stream, Style()))
    kept = [line.rpartition("\r\x1b[2K")[2] for line in stream.getvalue().split("\n")]
    assert len(kept) == 3
    assert "wrong answer" in kept[0]
    assert kept[1] == "note: the default launch is used"
    assert kept[2] == ""


def test_live_line_is_never_wider_than_the_terminal():
    stream = Terminal()
    LiveProgress(stream, Style(width=40)).case_started("cpu", "x" * 200, 1, 1)
    assert len(stream.getvalue().replace("\r\x1b[2K", "")) < 40


def test_the_stream_decides():
    assert isinstance(progress_sink(Terminal()), LiveProgress)
    assert isinstance(progress_sink(io.StringIO()), PlainProgress)


def test_a_cleared_live_line_leaves_nothing_behind():
    stream = Terminal()
    sink = progress_sink(stream)
    sink.compiling("sm_90")
    assert "sm_90" in stream.getvalue().rpartition("\x1b[2K")[2]
    sink.clear()
    assert stream.getvalue().endswith("\r\x1b[2K")
    plain = io.StringIO()
    progress_sink(plain).clear()
    assert plain.getvalue() == ""
