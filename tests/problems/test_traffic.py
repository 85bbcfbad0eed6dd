"""The traffic that the statement of standard-attention shows is what the judge counts."""

import importlib.util
from pathlib import Path

import pytest

from judge.catalogue import load_problem

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("counter_tables", ROOT / "scripts/counter_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def megabytes(bytes_):
    return f"{float(f'{bytes_ / 1e6:.3g}'):g} MB"


def test_the_statement_of_standard_attention_shows_the_traffic_of_its_model_solution(script):
    problem = load_problem("standard-attention")
    text = (problem.folder / "statement.md").read_text(encoding="utf-8")
    case = problem.case("book-length")
    [tiled] = script.counts(problem, [case], script.submission_of(problem.id, "accepted/tiled.cu"))
    scores, n = tiled.buffers["scores"], int(case.parameters["N"])
    assert scores.unique_bytes_read == 4 * n * n
    assert f"| all | scores | {megabytes(scores.bytes_read)} | 4 MB | {megabytes(scores.bytes_written)} |" in text
    read, written = tiled.global_bytes_read, tiled.global_bytes_written
    assert f"| all | everything | {megabytes(read)} | | {megabytes(written)} |" in text
    assert f"{megabytes(read + written)} moved" in text
    assert {round(tiled.buffers[name].bytes_read / (4 * n * 32)) for name in "KV"} == {16}
    [flash] = script.counts(problem, [case], script.submission_of("flash-forward", "accepted/register_tiles.cu"))
    assert f"moves {megabytes(script.moved(flash))}" in text
    assert set(flash.buffers) == {"Q", "K", "V", "O"}
