"""Inline asm may hold anything: whatever the reader lets through is run or refused, and ends no worker."""

import random

import pytest

from judge.backends.base import DeviceFault
from judge.backends.cpu.device import CpuDevice
from judge.backends.cpu.ptx.instructions import FORMS

REGISTERS = {
    "pred": 2, "b16": 2, "b32": 3, "b64": 3, "f32": 2, "f64": 2, "s32": 1, "u64": 1, "f16": 1,
}  # fmt: skip
NAMES = [f"{type_}_{number}" for type_, count in REGISTERS.items() for number in range(count)]
CONSTANTS = ["0", "1", "4", "16", "32", "-1", "-3", "0x7fffffff", "0xffffffffffffffff", "1.5", "0f3f800000"]
SPECIAL = ["%tid.x", "%laneid", "%clock64", "%ctaid.x"]
PLACES = ["[b64_0]", "[b64_0+4]", "[b32_0]", "[tile]", "[tile+16]", "[0]", "[f32_0]"]
OPCODES = [opcode for opcode in FORMS if opcode not in ("call", "bra", "brx", "ret", "exit")]

HEAD = """
.version 8.6
.target sm_90
.address_size 64
.shared .align 16 .b8 tile[1024];
.visible .entry k() {
"""


def module(statement):
    declared = "".join(f".reg .{type_} {type_}_<{count}>; " for type_, count in REGISTERS.items())
    set_ = "mov.u32 b32_0, %tid.x; mov.u32 b32_1, 4; mov.u32 b32_2, 31; cvta.shared.u64 b64_0, tile; mov.u64 b64_1, 7; "
    set_ += "mov.f32 f32_0, 0f3f800000; setp.eq.u32 pred_0, b32_0, b32_1; "
    return f"{HEAD}{declared}{set_}{statement} ret; }}\n".encode()


def vector(rng):
    return "{" + ", ".join(rng.choices(NAMES, k=rng.choice([1, 2, 4, 8]))) + "}"


def operand(rng, letter):
    match letter if rng.random() > 0.05 else rng.choice("dDPrvnmi"):
        case "d":
            return rng.choice([*NAMES, "_"])
        case "D" | "v":
            return vector(rng) if rng.random() < 0.5 else rng.choice(NAMES)
        case "P":
            return "|".join(rng.choices(NAMES, k=rng.choice([1, 2])))
        case "n":
            return rng.choice(["pred_0", "!pred_1", "b32_0", "1"])
        case "m":
            return rng.choice(PLACES)
        case "i":
            return rng.choice(CONSTANTS)
        case _:
            return rng.choice(NAMES * 2 + CONSTANTS + SPECIAL)


def statement(rng):
    """An instruction that the table knows, its suffixes, types and operands drawn."""
    opcode = rng.choice(OPCODES)
    form = FORMS[opcode]
    suffixes = rng.sample(sorted(form.suffixes), min(len(form.suffixes), rng.choice([0, 1, 1, 2, 3])))
    types = rng.choices(sorted(form.types), k=max(form.least_types, rng.choice([1, 2]))) if form.types else []
    operands = [operand(rng, letter) for letter in rng.choice(list(form.patterns.values()))]
    guard = rng.choice(["", "", "@pred_0 ", "@!pred_1 "])
    return f"{guard}{'.'.join([opcode, *suffixes, *types])} {', '.join(operands)};"


def loads(text):
    device = CpuDevice(threads=1)
    try:
        device.load(module(text), "")
    except DeviceFault as refusal:
        verdict = refusal.verdict
    else:
        return True
    assert verdict == "compile_error", text
    return False


@pytest.mark.parametrize("seed", range(4))
def test_a_drawn_instruction_is_loaded_or_refused(seed):
    rng = random.Random(seed)
    loaded = 0
    for _ in range(600):
        text = statement(rng)
        try:
            loaded += loads(text)
        except Exception as error:
            error.add_note(text)
            raise
    assert 10 < loaded < 590


@pytest.mark.parametrize(
    "text",
    [
        "shfl.sync.b32 b32_0, b32_1, 1, 31, -1;",
        "redux.sync.u32 b32_0, b32_1, -1;",
        "atom.shared.f32 f32_0, [tile], f32_1;",
        "cvta.u64 b64_0, b64_1;",
        "isspacep pred_0, b64_0;",
        "setp.u32 pred_0, b32_0, 1;",
        "dp4a.b32.b32 b32_0, b32_1, b32_1, b32_1;",
        "min.u32 b32_0, b32_1, b32_1, b32_1;",
        "cvt.rn.bf16x2.f32 b32_0, f32_0;",
        "wmma.store.d.sync.aligned.row.f32 [b64_0], {f32_0}, 1;",
        "cvt.bf16.bf16x2 b16_0, b32_0;",
    ],
)
def test_an_instruction_without_what_it_needs_is_refused(text):
    assert not loads(text)


@pytest.mark.parametrize("amount", ["-1", "-3", "31", "32", "0x80000000"])
def test_a_thread_index_is_shifted_by_any_amount(amount):
    assert loads(f"mov.u32 b32_1, %tid.x; shr.u32 b32_0, b32_1, {amount};")
