"""flash-forward: tiled attention with the online softmax, full and causal."""

from judge.problem import Problem, Tiers, Tolerance
from problems._families import dense, dense_cases

CASES = (
    *dense_cases.CPU_CASES,
    dense_cases.bench("bench-4096-64", 16, 4096, 64, causal=False),
    dense_cases.bench("bench-4096-64-causal", 16, 4096, 64, causal=True),
    dense_cases.bench("bench-8192-128", 16, 8192, 128, causal=False),
    dense_cases.bench("bench-8192-128-causal", 16, 8192, 128, causal=True),
)

PROBLEM = Problem(
    id="flash-forward",
    title="FlashAttention forward",
    summary="Attention in tiles with the online softmax, full and causal: the N x N scores never reach memory.",
    buffers=dense.BUFFERS,
    parameters=dense.PARAMETERS,
    cases=CASES,
    generate=dense.generate,
    reference=dense.reference,
    naive=dense.naive,
    minimum_bytes=dense.minimum_bytes,
    minimum_flops=dense.minimum_flops,
    tolerances={
        "O": Tolerance(
            3e-5,
            3e-4,
            "float32 sums of up to 8192 terms with __expf stay ten times below this; values are of order 1",
        )
    },
    mutants=dense.MUTANTS,
    timed=dense.timed(
        Tiers(0.1, 0.3, 0.6, "of float32 multiply-adds: one query a thread, tiles in shared memory, tiles in registers")
    ),
    keys=dense.KEYS,
    default_launch=("flash_attn_fwd<D><<<dim3((N + 63) / 64, BH), 64>>>(Q, K, V, O, N, scale, causal)"),
    requirements=(dense.skip_masked_tiles(),),
)
