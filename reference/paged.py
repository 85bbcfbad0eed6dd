"""Decode attention over a paged KV cache with grouped query heads, in float64.

Token t of sequence s lives in slot t mod PAGE of physical page block_table[s, t div PAGE]. With G = num_heads /
num_kv_heads, query head h uses KV head h div G:

    s_t = scale * q_h . k_t        out_h = sum_t softmax(s)_t v_t        over t = 0 .. context_len - 1

Table entries past the last used page and slots past the context may hold anything; they are never read here.
A context of 0 gives out = 0 and LSE = -inf.

Sources: W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention"
(arXiv:2309.06180, 2023), equation 4; J. Ainslie et al., "GQA" (arXiv:2305.13245, 2023).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.attention import attend

Array = NDArray[Any]
Float64 = NDArray[np.float64]


def gather(cache: Array, table: Array, context: int) -> Array:
    """The tokens of one sequence in order: cache [pages, PAGE, KVH, D], table [blocks]; returns [context, KVH, D]."""
    page = cache.shape[1]
    pages: Array = cache[np.asarray(table)[: -(-context // page)]]
    return pages.reshape(-1, *cache.shape[2:])[:context]


def paged_decode(
    q: Array, k_cache: Array, v_cache: Array, block_table: Array, context_lens: Array, scale: float
) -> tuple[Float64, Float64]:
    """One decode step: (out [num_seqs, num_heads, D], LSE [num_seqs, num_heads]).

    q: [num_seqs, num_heads, D]; caches: [num_blocks, PAGE, num_kv_heads, D];
    block_table: [num_seqs, max_blocks_per_seq]; context_lens: [num_seqs].
    Raises ValueError when num_heads is no multiple of num_kv_heads.
    """
    sequences, heads, dim = q.shape
    kv_heads = k_cache.shape[2]
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads are no multiple of {kv_heads} KV heads")
    out = np.zeros((sequences, heads, v_cache.shape[3]))
    log_sums = np.full((sequences, heads), -np.inf)
    for sequence in range(sequences):
        context = int(context_lens[sequence])
        if context == 0:
            continue
        k = gather(k_cache, block_table[sequence], context).transpose(1, 2, 0).astype(np.float64)
        v = gather(v_cache, block_table[sequence], context).transpose(1, 0, 2).astype(np.float64)
        grouped = q[sequence].reshape(kv_heads, heads // kv_heads, dim).astype(np.float64) * float(scale)
        o, log_sum = attend(grouped @ k, v)
        out[sequence] = o.reshape(heads, -1)
        log_sums[sequence] = log_sum.reshape(heads)
    return out, log_sums
