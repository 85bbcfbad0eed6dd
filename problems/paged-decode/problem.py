"""paged-decode: one decode step over a paged KV cache."""

from judge.problem import Problem, Tiers, Tolerance
from problems._families import paged, paged_cases, paged_mutants

CASES = (
    *paged_cases.CPU_CASES,
    paged_cases.bench("bench-16x4096", (4096,) * 16),
    paged_cases.bench("bench-mixed", tuple(range(128, 4097, 128))),
)

PROBLEM = Problem(
    id="paged-decode",
    title="Paged decode attention",
    summary="One query a sequence and head against a KV cache in pages, found through a block table, with GQA.",
    buffers=paged.BUFFERS,
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
            "float32 sums over 4096 tokens with __expf stay ten times below this; values are of order 1",
        )
    },
    mutants=paged_mutants.MUTANTS,
    timed=paged.timed(
        Tiers(0.3, 0.6, 0.9, "the cache once, with idle lanes; with full loads; with loads always in flight")
    ),
    keys=paged.KEYS,
    default_launch=(
        "paged_decode_attention<D><<<dim3(num_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, "
        "context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)"
    ),
)
