"""flash-decoding: paged decode whose keys are split over many blocks and merged by a second launch."""

from judge.problem import Problem, Tiers, Tolerance
from problems._families import paged, paged_cases, paged_mutants, split_mutants
from problems._families.paged_cases import bench, hidden, sample

CASES = (
    *paged_cases.SAMPLES,
    sample("empty-sequence", (5, 0, 40), (2, 1), 32, seed=5, doc="the second sequence has no token yet: its out is 0"),
    paged_cases.BOOK_LENGTHS,
    *paged_cases.HIDDEN,
    hidden("all-empty", (0, 0), (4, 2), 32, doc="no sequence has a token: all of out is 0"),
    hidden("empty-between", (33, 0, 129, 0, 1), (4, 2), 32, doc="sequences without a token between others"),
    paged_cases.EMPTY_AMONG_MANY,
    hidden("context-4129", (4129,), (2, 1), 32, doc="more than 4096 tokens, the last one alone in its page"),
    hidden("group-8-segments", (300, 45), (16, 2), 64, doc="512 numbers of q a KV head, over several segments"),
    hidden("split-edges", (127, 128, 129, 255, 256, 257), (2, 1), 32, doc="around 8 and 16 pages"),
    hidden("index-split", (100, 272), (2, 1), 32, family="index", doc="V[t] = t: the mean index of the tokens counted"),
    hidden(
        "stairs-inside", (320,), (2, 1), 32, family="stairs-rising", doc="steps of 80 tokens, inside 8 segments of 48"
    ),
    hidden("stairs-uneven", (200, 350), (2, 1), 32, family="stairs-rising", doc="no split has the same length"),
    bench("bench-1x131072", (131072,)),
    bench("bench-4x16384", (16384,) * 4),
    bench("bench-mixed", (32768, 100, 0, 8192, 1, 4096, 16, 2048)),
)

PROBLEM = Problem(
    id="flash-decoding",
    title="Flash-Decoding",
    summary="Paged decode with the keys of each query split over many blocks, and a second launch that merges them.",
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
            "float32 sums over 4096 tokens with __expf stay ten times below this; values are of order 1, and a merge "
            "adds a rounding for each split",
        )
    },
    mutants=(
        *paged_mutants.zero_where_empty(paged_mutants.MUTANTS),
        *split_mutants.MUTANTS,
        split_mutants.EMPTY_DIVIDED,
    ),
    timed=paged.timed(
        Tiers(0.3, 0.6, 0.85, "the cache once: enough blocks for every SM; full loads; loads always in flight")
    ),
    keys=paged.KEYS,
    default_launch=(
        "flash_decoding<D><<<dim3(num_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, "
        "context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)"
    ),
)
