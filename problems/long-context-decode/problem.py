"""long-context-decode: paged decode over contexts whose scores do not fit into shared memory."""

from dataclasses import replace

from judge.problem import Case, Mutant, Problem, Requirement, Tiers, Tolerance
from problems._families import paged, paged_cases, paged_mutants
from problems._families.paged import contexts_of
from problems._families.paged_cases import bench, hidden, sample
from problems._families.paged_mutants import mistaken
from reference.mistakes import tiled, tiles_added

CHUNK = 1024
"""Tokens a chunk in the mutants that walk along the context in chunks, as the starter does."""

BOOK_CONTEXT = 4096
"""Scores that the book's kernel has room for."""

LONG = 65536
"""From here on the scores of one query, 256 KiB, are more than a block may have of shared memory."""


def is_long(case: Case) -> bool:
    return max(contexts_of(case)) >= LONG


_MERGED_AWAY = {"context-15", "context-16", "context-17", "kv-head-of-each", "stairs-falling", "falling"}
"""Cases of the family whose sizes and inputs stand in others of this problem; the long ones cost their time."""

CASES = (
    *paged_cases.SAMPLES,
    sample("long", (LONG, 17), (1, 1), 32, seed=6, doc="65536 tokens beside 17: 256 KiB of scores"),
    paged_cases.BOOK_LENGTHS,
    *(case for case in paged_cases.HIDDEN if case.name not in _MERGED_AWAY),
    hidden("page-and-neighbors", (15, 16, 17, 0), (4, 2), 32, doc="around one page, and a sequence without tokens"),
    paged_cases.EMPTY_AMONG_MANY,
    hidden("chunk-edges", (1023, 1024, 1025, 2049), (1, 1), 32, doc="around one and two chunks of 1024 tokens"),
    hidden("rising-chunks", (2500, 1030), (1, 1), 32, family="rising", doc="the maximum rises from chunk to chunk"),
    hidden("stairs-4096", (4096,), (1, 1), 32, family="stairs-rising", doc="a step with each 1024 tokens"),
    hidden("index-16385", (16385,), (1, 1), 32, family="index", doc="V[t] = t: the mean index, 8192"),
    hidden("long-head-64", (LONG + 5,), (1, 1), 64, doc="a head dimension that is not 32"),
    hidden("needle-131072", (131072,), (1, 1), 32, family="needle-last", doc="the last of 131072 tokens alone counts"),
    bench("bench-1x131072", (131072,)),
    bench("bench-4x65536", (65536,) * 4),
    bench("bench-mixed", (131072, 1, 65536, 17, 4096, 0, 32768, 1000)),
)


def _clipped(tokens: int) -> int:
    return min(tokens, BOOK_CONTEXT)


def _in_16_bits(tokens: int) -> int:
    return tokens % (1 << 16)


def _has_several_chunks(case: Case) -> bool:
    return max(contexts_of(case)) > CHUNK


def _rises_by_chunks(case: Case) -> bool:
    return _has_several_chunks(case) and case.family in {"random", "uniform", "rising", "stairs-rising", "needle-last"}


def _unless_long(mutant: Mutant) -> Mutant:
    """A mistake that has nothing to do with length is told by a short case; a long one would take long to compare."""
    if mutant.id in {"zeros", "last_key_dropped"}:
        return mutant
    applies = mutant.applies or (lambda case: True)
    return replace(mutant, applies=lambda case: not is_long(case) and applies(case))


_OF_LENGTH = (
    Mutant(
        "first_4096_only",
        "Your output equals attention over the first 4096 tokens: the scores of the others had no place, or a loop "
        "ends there.",
        mistaken(keys=_clipped),
        lambda case: max(contexts_of(case)) > BOOK_CONTEXT,
        fix="Let the loop run over the whole context, in pieces whose scores fit.",
    ),
    Mutant(
        "context_in_16_bits",
        "Your output equals attention over context mod 65536 tokens: a length or a token index is held in 16 bits.",
        mistaken(keys=_in_16_bits),
        is_long,
        fix="Carry lengths and token indices in int.",
    ),
    Mutant(
        "chunks_added",
        "Each chunk of 1024 tokens is normalized alone and the results are added: divide by l once, after the last "
        "chunk.",
        mistaken(lambda s, v: tiles_added(s, v, CHUNK)),
        _has_several_chunks,
        depends_on_order=True,
    ),
    Mutant(
        "chunks_rescale_no_o",
        "When a chunk of 1024 tokens raises the maximum you rescale the sum l but not the output so far: multiply it "
        "by exp(m_old - m_new) too.",
        mistaken(lambda s, v: tiled(s, v, CHUNK, rescale_o=False)),
        _rises_by_chunks,
        fix="Multiply the output so far by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "chunks_rescale_no_l",
        "When a chunk of 1024 tokens raises the maximum you rescale the output but not the sum of exponentials: "
        "multiply l by exp(m_old - m_new) too.",
        mistaken(lambda s, v: tiled(s, v, CHUNK, rescale_l=False)),
        _rises_by_chunks,
        fix="Multiply l by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
    Mutant(
        "chunks_rescale_nothing",
        "When a chunk of 1024 tokens raises the maximum you rescale neither the output nor l: both were taken against "
        "the old maximum and need the factor exp(m_old - m_new).",
        mistaken(lambda s, v: tiled(s, v, CHUNK, rescale_l=False, rescale_o=False)),
        _rises_by_chunks,
        fix="Multiply both, the output so far and l, by exp(m_old - m_new) whenever the maximum rises.",
        depends_on_order=True,
    ),
)

PROBLEM = Problem(
    id="long-context-decode",
    title="Long-context decode",
    summary="Paged decode over up to 131072 tokens: the scores fit nowhere on the chip, and one pass must do.",
    buffers=paged.BUFFERS_WITH_EMPTY,
    parameters=paged.PARAMETERS,
    cases=CASES,
    generate=paged.generate,
    reference=paged.reference,
    naive=paged.naive,
    minimum_bytes=paged.minimum_bytes,
    minimum_flops=paged.minimum_flops,
    tolerances={
        "out": Tolerance(
            2e-5,
            2e-4,
            "float32 sums over 131072 tokens with __expf stay ten times below this where they are summed in pieces; "
            "values are of order 1",
        )
    },
    mutants=paged_mutants.zero_where_empty((*map(_unless_long, paged_mutants.MUTANTS), *_OF_LENGTH)),
    timed=paged.timed(
        Tiers(0.3, 0.6, 0.85, "the cache once: enough blocks for every SM; full loads; loads always in flight")
    ),
    keys=paged.KEYS,
    default_launch=(
        "long_decode<D><<<dim3(num_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, "
        "context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)"
    ),
    requirements=(
        Requirement(
            "read_amplification",
            1.1,
            "Read each K and V row once: with the online softmax a token's value is added when its score is known, "
            "and no second pass over the cache is needed.",
            buffers=("k_cache", "v_cache"),
            applies=is_long,
        ),
    ),
)
