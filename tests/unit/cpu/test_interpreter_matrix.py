"""Matrix instructions against NumPy products, with fragments laid out as the PTX ISA draws them."""

import numpy as np
import pytest

from judge.backends.cpu.fragments import LANES, mma_a, mma_b, mma_c, parse_shape, wmma_place
from tests.fuzz.evaluate import kernel_text, run_text


def run(body: str, inputs: np.ndarray, output_bytes: int, **kwargs) -> np.ndarray:
    output, result = run_text(kernel_text(body), "k", inputs, (32, 1, 1), output_bytes=output_bytes, **kwargs)
    assert result.events == ()
    return output


def test_layouts_hold_every_element_once():
    shape = parse_shape("m16n8k16")
    a = {mma_a(shape, 2, lane, r, p) for lane in range(LANES) for r in range(4) for p in range(2)}
    b = {mma_b(2, lane, r, p) for lane in range(LANES) for r in range(2) for p in range(2)}
    c = {mma_c(lane, n) for lane in range(LANES) for n in range(4)}
    assert (len(a), len(b), len(c)) == (256, 128, 128)
    assert mma_a(shape, 2, 5, 1, 1) == (9, 3)
    assert mma_b(2, 5, 1, 0) == (10, 1)
    assert mma_c(5, 3) == (9, 3)
    assert len({wmma_place(16, lane, n) for lane in range(LANES) for n in range(8)}) == 256


def _half_words(matrix: np.ndarray, place, registers: int) -> np.ndarray:
    """Registers of each lane, shape (lanes, registers), of a float16 matrix."""
    words = np.zeros((LANES, registers), dtype=np.uint32)
    for lane in range(LANES):
        for register in range(registers):
            low, high = (int(matrix[place(lane, register, p)].view(np.uint16)) for p in range(2))
            words[lane, register] = low | high << 16
    return words


def test_mma_f16_into_f32():
    rng = np.random.default_rng(1)
    a, b = rng.integers(-8, 8, (16, 16)).astype(np.float16), rng.integers(-8, 8, (16, 8)).astype(np.float16)
    c = rng.integers(-8, 8, (16, 8)).astype(np.float32)
    shape = parse_shape("m16n8k16")
    data = np.zeros((LANES, 16), dtype=np.uint32)
    data[:, :4] = _half_words(a, lambda *p: mma_a(shape, 2, *p), 4)
    data[:, 4:6] = _half_words(b, lambda *p: mma_b(2, *p), 2)
    data[:, 8:12] = [[int(c[mma_c(lane, n)].view(np.uint32)) for n in range(4)] for lane in range(LANES)]
    body = """
    .reg .b32 a<4>, b<2>; .reg .f32 c<4>;
    mul.wide.u32 %o, %t, 64; add.s64 %d1, %in, %o;
    ld.global.v4.b32 {a0, a1, a2, a3}, [%d1]; ld.global.v2.b32 {b0, b1}, [%d1+16];
    ld.global.v4.f32 {c0, c1, c2, c3}, [%d1+32];
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c0, c1, c2, c3}, {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3};
    mul.wide.u32 %o, %t, 16; add.s64 %d1, %out, %o; st.global.v4.f32 [%d1], {c0, c1, c2, c3};
    """
    output = run(body, data, LANES * 16).view(np.float32).reshape(LANES, 4)
    found = np.zeros((16, 8), dtype=np.float32)
    for lane in range(LANES):
        for n in range(4):
            found[mma_c(lane, n)] = output[lane, n]
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32) + c)


def test_mma_int8_saturates_only_when_asked():
    data = np.zeros((LANES, 8), dtype=np.uint32)
    data[:, 0:4] = 0x7F7F_7F7F
    data[:, 4:6] = 0x7F7F_7F7F
    data[:, 6] = 0x7FFF_FFF0
    for suffix, expected in ((".satfinite", 0x7FFF_FFFF), ("", (0x7FFF_FFF0 + 32 * 127 * 127) & 0xFFFF_FFFF)):
        body = f"""
        .reg .b32 a<4>, b<2>, c, d<4>;
        mul.wide.u32 %o, %t, 32; add.s64 %d1, %in, %o;
        ld.global.v4.b32 {{a0, a1, a2, a3}}, [%d1]; ld.global.v2.b32 {{b0, b1}}, [%d1+16]; ld.global.b32 c, [%d1+24];
        mma.sync.aligned.m16n8k32.row.col{suffix}.s32.s8.s8.s32 {{d0, d1, d2, d3}}, {{a0, a1, a2, a3}}, {{b0, b1}},
            {{c, c, c, c}};
        mul.wide.u32 %o, %t, 4; add.s64 %d1, %out, %o; st.global.b32 [%d1], d3;
        """
        assert set(run(body, data, 128).view(np.uint32).tolist()) == {expected}


@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_gives_rows_or_columns(transposed: bool):
    tiles = np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8)
    body = f"""
    .shared .align 16 .b8 tile[512];
    .reg .b32 m<4>;
    mul.wide.u32 %o, %t, 16; add.s64 %d1, %in, %o; mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 16, %r1;
    cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4{".trans" if transposed else ""}.shared.b16 {{m0, m1, m2, m3}}, [%r1];
    add.s64 %d1, %out, %o; st.global.v4.b32 [%d1], {{m0, m1, m2, m3}};
    """
    output = run(body, tiles, 512).view(np.uint16).reshape(LANES, 4, 2)
    for matrix in range(4):
        expected = tiles[matrix].T if transposed else tiles[matrix]
        assert np.array_equal(output[:, matrix].reshape(8, 8), expected)


def test_cp_async_pads_a_short_source_with_zeros():
    body = """
    .shared .align 16 .b8 tile[512];
    mul.wide.u32 %o, %t, 16; add.s64 %d1, %in, %o; mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 16, %r1;
    cp.async.cg.shared.global [%r1], [%d1], 16, 6; cp.async.wait_all;
    ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];
    add.s64 %d1, %out, %o; st.global.v4.b32 [%d1], {%r2, %r3, %r4, %r5};
    """
    data = np.full((LANES, 16), 0xAA, dtype=np.uint8)
    output = run(body, data, 512).reshape(LANES, 16)
    assert (output[:, :6] == 0xAA).all()
    assert not output[:, 6:].any()


@pytest.mark.parametrize(("a_layout", "b_layout"), [("row", "col"), ("col", "row")])
def test_wmma_multiplies_whatever_the_memory_layout(a_layout: str, b_layout: str):
    rng = np.random.default_rng(2)
    a, b = rng.integers(-4, 4, (16, 16)).astype(np.float16), rng.integers(-4, 4, (16, 16)).astype(np.float16)
    first = a if a_layout == "row" else a.T
    second = b if b_layout == "row" else b.T
    data = np.concatenate([np.ascontiguousarray(m).view(np.uint8).reshape(-1) for m in (first, second)])
    registers = ", ".join(f"a{n}" for n in range(8))
    others = ", ".join(f"b{n}" for n in range(8))
    sums = ", ".join(f"c{n}" for n in range(8))
    body = f"""
    .reg .b32 a<8>, b<8>; .reg .f32 c<8>; .reg .u32 stride;
    mov.u32 stride, 16;
    {"".join(f"mov.f32 c{n}, 0f3F800000;" for n in range(8))}
    wmma.load.a.sync.aligned.{a_layout}.m16n16k16.global.f16 {{{registers}}}, [%in], stride;
    wmma.load.b.sync.aligned.{b_layout}.m16n16k16.global.f16 {{{others}}}, [%in+512], stride;
    wmma.mma.sync.aligned.{a_layout}.{b_layout}.m16n16k16.f32.f32 {{{sums}}}, {{{registers}}}, {{{others}}}, {{{sums}}};
    wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%out], {{{sums}}}, stride;
    """
    found = run(body, data, 1024).view(np.float32).reshape(16, 16)
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32) + 1)
