"""paged-decode-bf16: GQA decode over a cache in bfloat16, read 16 bytes a lane."""

from collections.abc import Callable
from functools import partial

import numpy as np

from judge.problem import Array, Arrays, Case, Mutant, Problem, Requirement, Tiers, Tolerance
from problems._families import narrow, paged, paged_cases, paged_mutants
from reference.mistakes import narrow_sums

CACHES = ("k_cache", "v_cache")

LEFT_OUT = {"many-sequences", "stairs-falling", "equal-scores", "falling"}
"""Cases of the family that show here what another one of them shows."""

CASES = (
    *(case for case in paged_cases.CPU_CASES if case.name not in LEFT_OUT),
    paged_cases.hidden("wide-loads", (128, 64), (8, 2), 128, doc="whole pages: full warps of 16-byte loads fit"),
    paged_cases.hidden("crumbs", (300, 40), family="crumbs", doc="two tokens weigh 1, each other one e^-8.25"),
    paged_cases.hidden("crumbs-head-32", (200, 33), (6, 2), 32, family="crumbs", scale=0.25),
    paged_cases.bench("bench-64x4096", (4096,) * 64),
    paged_cases.bench("bench-mixed", tuple(range(128, 4097, 128))),
)


def _read(caches: Callable[[Array], Array]) -> Callable[[Case, Arrays], dict[str, Array]]:
    """Decode over caches that were taken for something else. caches: float32 of the stored words, as they are read."""
    return lambda case, inputs: paged.reference(case, {**inputs, **{name: caches(inputs[name]) for name in CACHES}})


def _pairs_swapped(cache: Array) -> Array:
    return narrow.wide(cache.reshape(*cache.shape[:-1], -1, 2)[..., ::-1].reshape(cache.shape))


def _low_half_left_in(cache: Array) -> Array:
    read = narrow.wide(cache)
    read[..., 1::2] = np.ascontiguousarray(cache).view("<u4").view(np.float32)
    return read


def _query_rounded(case: Case, inputs: Arrays) -> dict[str, Array]:
    return paged.reference(case, {**inputs, "q": narrow.rounded(inputs["q"], "bf16")})


def _sums_round_alike(case: Case) -> bool:
    """Whether the maximum stays that of the first token, so that sums are rounded alike in every order of updates."""
    return case.family in {"crumbs", "index"} and max(paged.contexts_of(case)) > 1


def _sums(*, l: bool) -> Callable[[Case, Arrays], dict[str, Array]]:
    return paged_mutants.mistaken(narrow_sums(partial(narrow.rounded, dtype="bf16"), l=l, o=True))


MUTANTS = (
    *narrow.mutants_over_wide(paged_mutants.MUTANTS),
    Mutant(
        "pairs_swapped",
        "You take the two halves of each 32-bit word in the wrong order: element 2 i of a row lies in the lower half, "
        "element 2 i + 1 in the upper one.",
        _read(_pairs_swapped),
        fix="Read the even element from the lower 16 bits (word << 16), the odd one from the upper (& 0xffff0000).",
    ),
    Mutant(
        "low_half_left_in",
        "The odd element of each 32-bit word still has the even one behind it, as if it were more digits: every such "
        "value is off by up to 1 in 128.",
        _read(_low_half_left_in),
        fix="Hide the lower 16 bits (word & 0xffff0000) before the word is taken for a float.",
    ),
    Mutant(
        "read_as_half",
        "You read the caches as __half. They are bfloat16: 8 bits of exponent and 7 of mantissa, the upper half of a "
        "float.",
        _read(lambda cache: cache.view(np.float16).astype(np.float32)),
        fix="Read the caches as __nv_bfloat16, or shift the 16 bits into the upper half of a float.",
    ),
    Mutant(
        "query_in_bf16",
        "Your scores are those of a query rounded to bfloat16: q is float32, and so are the products.",
        narrow.over_wide(_query_rounded),
        fix="Multiply in float32: widen K, and leave q as it is.",
    ),
    Mutant(
        "output_in_bf16",
        "Your output is summed in bfloat16: with 8 bits, what one token adds to a sum of many is rounded away.",
        narrow.over_wide(_sums(l=False)),
        _sums_round_alike,
        fix="Carry o in float32 registers.",
        depends_on_order=True,
    ),
    Mutant(
        "sums_in_bf16",
        "Your output and the sum of exponentials l are both summed in bfloat16: what one token adds is rounded away.",
        narrow.over_wide(_sums(l=True)),
        _sums_round_alike,
        fix="Carry l and o in float32 registers.",
        depends_on_order=True,
    ),
)

PROBLEM = Problem(
    id="paged-decode-bf16",
    title="Paged decode, bfloat16 cache",
    summary="GQA decode over a cache in bfloat16: half the bytes, read 16 a lane and widened to float32 in registers.",
    buffers=narrow.buffers_in("bf16", CACHES, paged.BUFFERS),
    parameters=paged.PARAMETERS,
    cases=CASES,
    generate=narrow.generator_in("bf16", CACHES, paged.generate, "q", "k_cache", (1, 1, 1)),
    reference=narrow.over_wide(paged.reference),
    naive=narrow.over_wide(paged.naive),
    minimum_bytes=paged.minimum_bytes,
    minimum_flops=paged.minimum_flops,
    tolerances={
        "out": Tolerance(
            2e-5,
            2e-4,
            "the reference reads the same bfloat16 numbers; float32 products and sums over 4096 tokens with __expf "
            "stay ten times below this, and one rounding to bfloat16 on the way is ten times above it",
        )
    },
    mutants=MUTANTS,
    timed=narrow.timed_over_wide(
        paged.timed(
            Tiers(0.3, 0.6, 0.9, "the cache once, with idle lanes; with full loads; with loads always in flight")
        )
    ),
    keys=narrow.keys_over_wide(paged.KEYS),
    default_launch=(
        "paged_decode_bf16<D><<<dim3(num_kv_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, "
        "context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)"
    ),
    requirements=(
        paged.read_once(),
        Requirement(
            "requests_ratio",
            1.5,
            "Load 16 bytes a lane: eight bfloat16 values of K or V in one instruction.",
            buffers=CACHES,
            # Whole pages, so that no warp has to leave lanes of its loads idle.
            applies=lambda case: case.name == "wide-loads",
        ),
    ),
)
