"""The tables of docs/counters.md are what the judge counts today, and the kernel written for them is right."""

import importlib.util
import re
from itertools import pairwise
from pathlib import Path

import pytest

from judge.catalogue import load_problem
from judge.events import NullSink
from judge.pipeline import Options, judge_submission
from judge.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/counters.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("counter_tables", ROOT / "scripts/counter_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures(name):
    """The rows of a table of the page, first column as text, the others as numbers."""
    [text] = re.findall(rf"<!-- table: {name} -->\n(.*?)<!-- end of table -->", PAGE, re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return [[row[0], *(float(cell.rstrip("x%").replace(",", "")) for cell in row[1:])] for row in rows]


@pytest.mark.parametrize("name", ["shared-heads", "causal-tiles", "score-matrix", "padded-tile"])
def test_a_table_is_up_to_date(script, name):
    assert script.place(PAGE, name, script.TABLES[name]()) == PAGE, "run scripts/counter_tables.py"


def test_the_page_has_every_table_and_no_other(script):
    assert re.findall(r"<!-- table: (\S+) -->", PAGE) == list(script.TABLES)
    with pytest.raises(ValueError, match="0 places"):
        script.place(PAGE, "no-such-table", "")


def test_the_tables_show_what_the_page_says_of_them():
    apart, shared = figures("shared-heads")
    assert (apart[3], shared[3]) == (4.0, 1.0)
    assert apart[1] == 4 * shared[1]
    masked = figures("causal-tiles")
    assert all(row[1] == row[2] for row in masked)
    assert masked[-1][4] < 57
    matrix = figures("score-matrix")
    assert [after[1] / before[1] for before, after in pairwise(matrix)] == [4.0, 4.0, 4.0]
    # A pass of 64 queries reads K and V, 2 * 32 floats a key, and 64 rows of Q, and writes 64 of O.
    assert [row[4] for row in matrix] == [4 * (2 * 32 * int(row[0]) + 2 * 64 * 32) for row in matrix]
    padded, plain = figures("padded-tile")
    assert padded[3] == 0
    assert plain[3] > 3


def test_the_kernel_written_for_the_tables_is_right():
    source = (ROOT / "scripts/specimens/standard_attention.cu").read_bytes()
    options = Options(backend="cpu", cases=("tile-plus-1", "index-causal", "head-32"), seed=1)
    report = judge_submission(load_problem("flash-forward"), source, "standard_attention.cu", options, NullSink())
    assert report.verdict is Verdict.ACCEPTED, report.message
