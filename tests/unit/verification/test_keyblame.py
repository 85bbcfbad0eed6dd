"""Which keys an error comes from: planted errors of known keys are told, others blame nobody."""

from functools import cache

import numpy as np
import pytest

from judge.catalogue import load_problem
from judge.examples import case_generator
from judge.problem import KeyAxis, Weighed
from judge.verification.failuremap import map_failures
from judge.verification.keyblame import FLOPS, LEAST_ROWS, MOST_ROWS, blame_keys
from judge.verification.tolerances import is_right, tolerance_of
from problems._families.dense_cases import hidden
from problems._families.paged_cases import hidden as paged_hidden
from reference.softmax import softmax

HEADS, QUERIES, KEYS, WIDTH, TILE = 2, 40, 130, 32, 32


@cache
def attention(width=WIDTH, spread=1.0):
    """Weights [HEADS, QUERIES, KEYS] and values [HEADS, KEYS, width] of a small attention."""
    rng = np.random.default_rng(3)
    return softmax(spread * rng.standard_normal((HEADS, QUERIES, KEYS))), rng.standard_normal((HEADS, KEYS, width))


def axis_of(weights, values, **changes):
    def weighed(case, inputs, rows):
        heads, queries = np.divmod(rows, QUERIES)
        for head in dict.fromkeys(heads.tolist()):
            chosen = np.flatnonzero(heads == head)
            yield Weighed(rows[chosen], weights[head, queries[chosen]], values[head])

    return KeyAxis("O", TILE, weighed, **({"down": 1} | changes))


def counted(weights, values, keys, times):
    """The output of a kernel that counts some keys so many times."""
    factor = np.ones(KEYS)
    factor[keys] = times
    mistaken = weights * factor
    return (mistaken / mistaken.sum(axis=-1, keepdims=True)) @ values


def blamed(got, want, weights, values, flops_of_row=1.0):
    wrong = ~(np.abs(got - want) <= 1e-6)
    found = map_failures("O", ("BH", "N", "D"), got, want, wrong)
    return blame_keys(axis_of(weights, values), None, {}, got, want, wrong, found, flops_of_row)


@pytest.mark.parametrize(
    ("times", "words"),
    [(0.0, "leaving out keys 64 to 95"), (2.0, "counting keys 64 to 95 twice"),
     (0.4, "giving keys 64 to 95 too little weight"), (7.0, "giving keys 64 to 95 too much weight")],
)  # fmt: skip
def test_a_tile_counted_wrongly_is_told_with_how_much_is_missing(times, words):
    weights, values = attention()
    found = blamed(counted(weights, values, slice(64, 96), times), weights @ values, weights, values)
    assert (found.looked_at, found.explained) == (80, 80)
    assert found.sentence == f"In all 80 failing rows looked at the error is what {words} gives."
    assert {cell.tile for cell in found.cells} == {2}
    assert all(cell.left_out == pytest.approx(1 - times, abs=1e-9) and cell.share > 0.999999 for cell in found.cells)
    assert sum(cell.rows for cell in found.cells) == 80
    assert all(cell.key is None and cell.block is None for cell in found.cells)


def test_one_missing_key_is_named():
    weights, values = attention()
    found = blamed(counted(weights, values, 99, 0.0), weights @ values, weights, values)
    assert found.sentence == "In all 80 failing rows looked at the error is what leaving out key 99 gives."
    assert {(cell.tile, cell.key) for cell in found.cells} == {(3, 99)}


def test_another_single_key_in_each_row_is_not_told_as_the_whole_tile():
    weights, values = attention()
    want = weights @ values
    got = want.copy()
    for query in range(QUERIES):
        got[:, query] = counted(weights, values, 64 + query % TILE, 0.0)[:, query]
    assert "leaving out one key of 64 to 95, not always the same, gives" in blamed(got, want, weights, values).sentence


def test_the_part_of_the_output_and_the_rows_looked_at_are_those_of_the_failure_map():
    weights, values = attention()
    want = weights @ values
    got = want.copy()
    got[1, 30:] = counted(weights, values, slice(0, 32), 0.0)[1, 30:]
    got[0, 3] += np.random.default_rng(0).standard_normal(WIDTH)
    found = blamed(got, want, weights, values)
    assert (found.looked_at, found.explained) == (11, 10)
    assert [(cell.row, cell.column, cell.tile, cell.rows, cell.looked_at) for cell in found.cells] == [
        (1, column, 0, 2, 2) for column in range(15, 20)
    ]
    assert found.cells[0].index == (1, 30)


def test_noise_blames_nobody():
    weights, values = attention()
    want = weights @ values
    assert blamed(want + np.random.default_rng(0).standard_normal(want.shape), want, weights, values) is None


def test_the_wrong_kv_head_blames_nobody():
    weights, values = attention()
    assert blamed(weights @ values[::-1], weights @ values, weights, values) is None


def test_two_tiles_left_out_at_once_blame_neither():
    weights, values = attention()
    got = counted(weights, values, np.r_[0:32, 64:96], 0.0)
    assert blamed(got, weights @ values, weights, values) is None


def test_rows_that_hold_no_number_are_left_out():
    weights, values = attention()
    got = counted(weights, values, slice(32, 64), 0.0)
    got[0, :, 5] = np.nan
    got[1, 0, 0] = np.inf
    found = blamed(got, weights @ values, weights, values)
    assert (found.looked_at, found.explained) == (39, 39)
    got[:] = np.nan
    assert blamed(got, weights @ values, weights, values) is None


def test_few_dimensions_prove_nothing():
    weights, values = attention(7)
    assert blamed(counted(weights, values, slice(32, 64), 0.0), weights @ values, weights, values) is None


def test_values_in_one_direction_prove_nothing():
    weights, _ = attention()
    values = np.broadcast_to(np.arange(KEYS, dtype=float)[:, None], (HEADS, KEYS, WIDTH))
    assert blamed(counted(weights, values, slice(32, 64), 0.0), weights @ values, weights, values) is None


def test_a_tile_that_holds_all_weight_is_not_blamed():
    _, values = attention()
    weights = np.zeros((HEADS, QUERIES, KEYS))
    weights[:, :, :32] = 1 / 32
    want = weights @ values
    assert blamed(want + np.random.default_rng(1).standard_normal(want.shape), want, weights, values) is None
    assert blamed(want * 1.5, want, weights, values) is None


def test_of_the_two_tiles_of_a_row_the_one_that_is_left_out_or_doubled_is_blamed():
    full, values = attention()
    weights = full * (np.arange(KEYS) < 64)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    for times in (0.0, 2.0):
        found = blamed(counted(weights, values, slice(0, 32), times), weights @ values, weights, values)
        assert {cell.tile for cell in found.cells} == {0}
        assert found.explained == 80
    assert blamed(counted(weights, values, slice(0, 32), 0.3), weights @ values, weights, values) is None


def test_the_sample_follows_from_the_counted_cost_and_is_the_same_each_time():
    weights, values = attention()
    got, want = counted(weights, values, slice(64, 96), 0.0), weights @ values
    assert blamed(got, want, weights, values, FLOPS).looked_at == LEAST_ROWS
    assert blamed(got, want, weights, values, FLOPS / 60) == blamed(got, want, weights, values, FLOPS / 60)
    rows = np.tile(got, (1, 10, 1)), np.tile(want, (1, 10, 1))
    wrong = rows[0] != rows[1]
    found = map_failures("O", ("BH", "N", "D"), *rows, wrong)

    def weighed(case, inputs, chosen):
        heads, queries = np.divmod(chosen, 10 * QUERIES)
        for head in dict.fromkeys(heads.tolist()):
            mine = np.flatnonzero(heads == head)
            yield Weighed(chosen[mine], weights[head, queries[mine] % QUERIES], values[head])

    axis = KeyAxis("O", TILE, weighed, down=1)
    told = blame_keys(axis, None, {}, *rows, wrong, found, 1.0)
    assert (told.looked_at, told.explained) == (MOST_ROWS, MOST_ROWS)


PROBLEMS = {
    "flash-forward": hidden("full", 3, 150, 64),
    "standard-attention": hidden("causal", 3, 150, 64, causal=True),
    "flash-forward-f16": hidden("half", 3, 150, 64),
    "paged-decode": paged_hidden("pages", (70, 50, 97), (8, 2)),
    "gqa-decode": paged_hidden("pages", (70, 50, 97), (8, 2)),
    "flash-decoding": paged_hidden("pages", (70, 0, 97), (8, 2)),
    "long-context-decode": paged_hidden("pages", (70, 0, 97), (8, 2)),
    "paged-decode-bf16": paged_hidden("pages", (70, 50, 97), (8, 2)),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_weights_of_every_problem_give_its_reference(name):
    problem, case = load_problem(name), PROBLEMS[name]
    inputs = problem.generate(case, case_generator(case, 7))
    want = np.asarray(problem.reference(case, inputs)[problem.keys.output])
    rows = np.random.default_rng(0).permutation(want[..., 0].size)
    seen = []
    for part in problem.keys.weighed(case, inputs, rows):
        np.testing.assert_allclose(part.weights @ part.values, want.reshape(-1, want.shape[-1])[part.rows], atol=1e-12)
        seen += part.rows.tolist()
    empty = [row for row in rows if not want.reshape(-1, want.shape[-1])[row].any()]
    assert sorted([*seen, *empty]) == sorted(rows)


@pytest.mark.parametrize("name", [name for name, case in PROBLEMS.items() if case.name == "pages"])
def test_a_page_is_told_with_its_block(name):
    problem, case = load_problem(name), PROBLEMS[name]
    inputs = problem.generate(case, case_generator(case, 7))
    want = np.asarray(problem.reference(case, inputs)["out"], np.float64)
    got = want.copy()
    (part,) = problem.keys.weighed(case, inputs, np.arange(16, 20))
    weights = part.weights.copy()
    weights[:, 48:64] = 0
    got[2, :4] = weights / weights.sum(axis=1, keepdims=True) @ part.values
    wrong = ~is_right(got, want, tolerance_of(problem, "out"))
    found = map_failures("out", ("num_seqs", "num_heads", "D"), got, want, wrong)
    told = blame_keys(problem.keys, case, inputs, got, want, wrong, found, 1.0)
    block = int(inputs["block_table"][2, 3])
    assert f"is what leaving out page 3 of sequence 2 (block {block}) gives." in told.sentence
    assert {(cell.row, cell.tile, cell.block) for cell in told.cells} == {(2, 3, block)}


def test_problems_without_keys_stay_without():
    assert load_problem("online-softmax").keys is None
    assert load_problem("splitk-merge").keys is None
