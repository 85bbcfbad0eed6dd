"""Backward passes, losses and optimizers."""

from itertools import pairwise

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import case, f32, i32, normal, softmax, wide


@case("training.cu")
def softmax_backward(rng):
    p, dy = softmax(normal(rng, 4, 45)), normal(rng, 4, 45)
    expected = wide(p) * (dy - (wide(p) * dy).sum(axis=1, keepdims=True))
    return Run("softmax_backward", (4,), (32,), [p, dy, blank((4, 45)), i32(45)], {2: expected})


@case("training.cu")
def rms_norm_backward(rng):
    x, gain, dy = normal(rng, 5, 50), normal(rng, 50), normal(rng, 5, 50)
    scale = 1 / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6)
    pulled = dy * wide(gain)
    dx = scale * (pulled - x * scale**2 * (pulled * x).mean(1, keepdims=True))
    arguments = [x, gain, dy, blank((5, 50)), np.zeros(50, f32), i32(5), i32(50)]
    expected = {3: dx, 4: (dy * x * scale).sum(0)}
    return Run("rms_norm_backward", (2,), (96,), arguments, expected, 200, rtol=1e-4, atol=1e-5)


@case("training.cu")
def layer_norm_backward(rng):
    x, gain, dy = normal(rng, 3, 150), normal(rng, 150), normal(rng, 3, 150)
    w = wide(x)
    scale = 1 / np.sqrt(w.var(1, keepdims=True) + 1e-5)
    unit, g = (w - w.mean(1, keepdims=True)) * scale, dy * wide(gain)
    expected = scale * (g - g.mean(1, keepdims=True) - unit * (g * unit).mean(1, keepdims=True))
    arguments = [x, gain, dy, blank((3, 150)), i32(150)]
    return Run("layer_norm_backward", (3,), (128,), arguments, {3: expected}, rtol=1e-4, atol=1e-5)


@case("training.cu")
def column_sums(rng):
    dy = normal(rng, 29, 45)
    arguments = [dy, blank(45), i32(29), i32(45)]
    return Run("column_sums", (2,), (32, 8), arguments, {1: wide(dy).sum(0)}, atol=1e-5)


@case("training.cu")
def cross_entropy(rng):
    logits, labels = normal(rng, 5, 70) * f32(4), rng.integers(0, 70, 5)
    labels[2] = -100
    log_p = np.log(softmax(wide(logits)))
    target = 0.9 * np.eye(70)[labels % 70] + 0.1 / 70
    counted = (labels >= 0)[:, None]
    loss = -(target * log_p).sum(1) * counted[:, 0]
    arguments = [logits, labels.astype(np.int64), blank(5), blank((5, 70)), i32(70), f32(0.1)]
    expected = {2: loss, 3: (np.exp(log_p) - target) * counted}
    return Run("cross_entropy", (5,), (32,), arguments, expected, rtol=1e-4, atol=1e-6)


@case("training.cu")
def swiglu_backward(rng):
    gate, up, dy = (normal(rng, 2 * 70) for _ in range(3))
    g, s = wide(gate), 1 / (1 + np.exp(-wide(gate)))
    expected = {3: dy * up * s * (1 + g * (1 - s)), 4: dy * g * s}
    arguments = [gate, up, dy, blank(140), blank(140), i32(70)]
    return Run("swiglu_backward", (2,), (32,), arguments, expected, rtol=1e-4, atol=1e-5)


@case("training.cu")
def embedding_backward(rng):
    tokens, dy = rng.integers(-1, 6, 25, dtype=i32), normal(rng, 25, 40)
    expected = np.zeros((6, 40))
    np.add.at(expected, tokens[tokens >= 0], dy[tokens >= 0])
    arguments = [tokens, dy, np.zeros((6, 40), f32), i32(40)]
    return Run("embedding_backward", (25,), (32,), arguments, {2: expected}, atol=1e-5)


@case("training.cu")
def attention_backward(rng):
    q, k, v, dout = (normal(rng, 22, 32) for _ in range(4))
    scores = np.where(np.tri(22, dtype=bool), wide(q) @ wide(k).T / 32**0.5, -np.inf)
    norm = np.log(np.exp(scores).sum(1))
    p = softmax(scores)
    out = p @ v
    ds = p * (wide(dout) @ wide(v).T - (dout * out).sum(1, keepdims=True)) / 32**0.5
    given = [q, k, v, out.astype(f32), dout, norm.astype(f32)]
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    return [
        Run("attention_backward_q", (22,), (32,), [*given, blank((22, 32)), i32(22)], {6: ds @ k}, **tolerance),
        Run(
            "attention_backward_kv",
            (22,),
            (32, 3),
            [*given, blank((22, 32)), blank((22, 32)), i32(22)],
            {6: ds.T @ q, 7: p.T @ dout},
            **tolerance,
        ),
    ]


@case("training.cu")
def adamw_step(rng):
    w, g, m, v = normal(rng, 90), normal(rng, 90), normal(rng, 90), normal(rng, 90) ** 2
    fields = [(name, f32) for name in ("rate", "beta1", "beta2", "epsilon", "decay")]
    adam = np.array((0.01, 0.9, 0.99, 1e-8, 0.1, 3), [*fields, ("step", i32)])[()]
    m1, v1 = 0.9 * wide(m) + 0.1 * g, 0.99 * wide(v) + 0.01 * wide(g) ** 2
    moved = (m1 / (1 - 0.9**3)) / (np.sqrt(v1 / (1 - 0.99**3)) + 1e-8) + 0.1 * w
    # The struct of 24 bytes is aligned to 4; after four pointers and an int it stands at 36.
    arguments = [w, g, m, v, i32(90), *(adam[name] for name in adam.dtype.names)]
    return Run("adamw_step", (2,), (32,), arguments, {0: w - 0.01 * moved, 2: m1, 3: v1}, rtol=1e-4, atol=1e-5)


@case("training.cu")
def clip_to_norm(rng):
    x, starts, total = normal(rng, 100), np.array([0, 33, 33, 100], i32), np.zeros(1)
    squares = [(wide(x)[a:b] ** 2).sum() for a, b in pairwise(starts)]
    clipped = wide(x) * 2 / sum(squares) ** 0.5
    return [
        Run("norm_of_tensors", (3,), (64,), [x, starts, np.zeros(3), total], {2: squares, 3: [sum(squares)]}),
        Run("clip_to_norm", (2,), (64,), [x, i32(100), total, f32(2)], {0: clipped}),
    ]


@case("training.cu")
def dropout_philox(rng):
    x = normal(rng, 4 * 30)
    c0, c1, c2, c3 = np.arange(30, dtype=np.uint64), *(np.zeros(30, np.uint64) for _ in range(3))
    k0, k1, low = 1234, 77, np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            b >> np.uint64(32) ^ c1 ^ np.uint64(k0),
            b & low,
            a >> np.uint64(32) ^ c3 ^ np.uint64(k1),
            a & low,
        )
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    words = np.stack([c0, c1, c2, c3], axis=1)
    expected = np.where(words / 2.0**32 < 0.7, wide(x).reshape(30, 4) / 0.7, 0)
    seed = np.uint64(77 << 32 | 1234)
    return Run("dropout_philox", (1,), (32,), [x, blank(120), i32(30), f32(0.7), seed], {1: expected})
