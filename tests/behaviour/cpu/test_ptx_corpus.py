"""Every kernel of tests/kernels, as NVRTC compiles it in each mode, parses and links; mutated PTX too, or is refused.

The corpus stands for what learners write: each kernel family is one file, reused by tests that run
them. `-G` is what the CPU backend judges, the other modes are what inline expansion and the
optimiser make of the same source.
"""

import random
import re
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from judge.backends.cpu.ir import Address, Instruction, Kernel, Module, Register, Symbol, Target, Vector
from judge.backends.cpu.ptx import PtxError, load

nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="needs NVRTC")

KERNELS = Path(__file__).parents[2] / "kernels"
FILES = sorted(path.stem for path in KERNELS.glob("*.cu"))
MODES = {"debug": ("-G",), "mid": ("--Ofast-compile=mid", "-lineinfo"), "optimized": ("-lineinfo",)}
# Its headers take NVRTC two seconds a mode; the mode the judge uses is enough.
SLOW = {"cooperative_groups"}


def include_folders() -> list[str]:
    spec = find_spec("nvidia")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    roots = [Path(root) / "cu13" / "include" for root in spec.submodule_search_locations]
    return [f"-I{folder}" for root in roots for folder in (root, root / "cccl") if folder.is_dir()]


@cache
def ptx(stem: str, mode: str) -> str:
    program = nvrtc.createProgram((KERNELS / f"{stem}.cu").read_text(), f"{stem}.cu", (), ())
    try:
        options = ["-arch=compute_90", "-std=c++17", *MODES[mode], *include_folders()]
        nvrtc.compileProgram(program, options)
        text = nvrtc.getPTX(program)
    finally:
        nvrtc.destroyProgram(program)
    return text.decode() if isinstance(text, bytes) else text


def registers_of(operand) -> list[Register]:
    match operand:
        case Register():
            return [operand]
        case Address(base=Register() as base):
            return [base]
        case Vector():
            return [element for element in operand.elements if isinstance(element, Register)]
        case _:
            return []


def check_instruction(kernel: Kernel, instruction: Instruction, module: Module) -> None:
    sizes = {
        "shared": kernel.shared_static_bytes + 128,
        "local": kernel.local_bytes,
        "param": kernel.parameter_bytes,
        "global": module.global_bytes,
        "const": module.constant_bytes,
    }
    operands = [*instruction.destinations, *instruction.sources]
    if instruction.guard is not None:
        operands.append(instruction.guard.register)
    for operand in operands:
        for register in registers_of(operand):
            assert kernel.registers[register.index] == register
        if isinstance(operand, Target):
            assert 0 <= operand.index <= len(kernel.instructions)
        symbol = operand.base if isinstance(operand, Address) else operand
        if isinstance(symbol, Symbol):
            assert 0 <= symbol.offset <= sizes[symbol.space]
    assert instruction.opcode != "call" or instruction.modifiers[0] in ("vprintf", "__assertfail", "malloc", "free")
    assert not (instruction.opcode in ("ld", "st") and "param" in instruction.modifiers) or instruction.opcode == "ld"


def test_the_corpus_is_there():
    assert len(FILES) >= 55


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stem", FILES)
def test_a_kernel_file_parses_and_links(stem, mode):
    if stem in SLOW and mode != "debug":
        pytest.skip("its headers take NVRTC long; -G covers it")
    text = ptx(stem, mode)
    module = load(text)
    assert set(module.kernels) == set(re.findall(r"\.entry (\w+)", text))
    assert module.debug == (mode == "debug")
    for kernel in module.kernels.values():
        assert kernel.instructions
        for instruction in kernel.instructions:
            check_instruction(kernel, instruction, module)


def test_each_file_names_its_source_lines_in_debug_mode():
    lines = (KERNELS / "struct_functions.cu").read_text().splitlines()
    kernel = load(ptx("struct_functions", "debug")).kernels["struct_functions"]
    named = set()
    for instruction in kernel.instructions:
        place = instruction.location
        assert place is not None
        while place.inlined_at is not None:
            place = place.inlined_at
        assert place.file == "struct_functions.cu"
        named.add(place.line)
    body = range(next(i for i, text in enumerate(lines, 1) if "__global__" in text), len(lines) + 1)
    # Every instruction leads back to a line of the kernel, through the calls it was copied for.
    assert named <= set(body)
    assert len(named) > 20


def chain(location) -> list[tuple[str, int]]:
    return [] if location is None else [(location.file, location.line), *chain(location.inlined_at)]


def line_with(stem: str, text: str) -> int:
    lines = (KERNELS / f"{stem}.cu").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


# In its middle mode NVRTC itself drops the caller.
@pytest.mark.parametrize("mode", ["debug", "optimized"])
def test_an_expanded_function_knows_its_caller(mode):
    kernel = load(ptx("reduce_shuffle", mode)).kernels["warp_maxima"]
    shuffles = [instruction for instruction in kernel.instructions if instruction.opcode == "shfl"]
    assert shuffles
    for instruction in shuffles:
        own = [line for file, line in chain(instruction.location) if file == "reduce_shuffle.cu"]
        assert own == [
            line_with("reduce_shuffle", "value = fmaxf(value, __shfl_xor_sync"),
            line_with("reduce_shuffle", "out[i] = warp_max(in[i])"),
        ]


def test_code_of_a_header_leads_back_to_the_kernel():
    # Cooperative groups are expanded by the compiler: only the debug sections know from where.
    for kernel in load(ptx("cooperative_groups", "debug")).kernels.values():
        for instruction in kernel.instructions:
            if instruction.opcode != "bra":
                assert chain(instruction.location)[-1][0] == "cooperative_groups.cu"


def test_a_large_kernel_costs_time_in_proportion_to_its_size():
    line = "$L{0}: add.s32 %r{1}, %r{2}, 1; @%p1 bra $L{0}; st.global.v2.u32 [%rd1+{0}], {{%r{1}, %r{2}}};\n"
    body = "".join(line.format(index, index % 900, (index + 7) % 900) for index in range(7000))
    head = ".version 9.0 .target sm_90 .address_size 64 .entry k() { "
    head += ".reg .pred %p<2>; .reg .b32 %r<900>; .reg .b64 %rd<2>;"
    begin = time.perf_counter()
    assert len(load(f"{head} {body} ret; }}").kernels["k"].instructions) == 21_001
    # Half a second; anything quadratic takes minutes.
    assert time.perf_counter() - begin < 15


_WORD = re.compile(r"[\w.$%]+|\S|\s+")
_ODDITIES = (
    *"{}()[];,@!|_.:",
    *(".reg .b32", "99999999999999999999", "-1", "0f00000000", "0x", "%tid.x", "call", "ret;", ".param", '"', "/*"),
    *("\x00", "é", "mov.b64", "<9999>", ".local .b8 q[100];", "brx.idx", ".loc 1 2 3", ".section x {", "ld.param.b8"),
    *("st.param.v2.b32", "L:", ".branchtargets", "generic(", "cp.async.wait_all", "add.s32", ".v4", "mma.sync", "pred"),
)


def mutated(text: str, chance: random.Random) -> str:
    words = _WORD.findall(text)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(words))
        match chance.randrange(6):
            case 0:
                del words[at : at + chance.randint(1, 5)]
            case 1:
                words[at] = chance.choice(_ODDITIES)
            case 2:
                words.insert(at, chance.choice(_ODDITIES))
            case 3:
                words[at] = chance.choice(words)
            case 4:
                other = chance.randrange(len(words))
                words[at], words[other] = words[other], words[at]
            case _:
                words[at:at] = words[max(0, at - chance.randint(0, 30)) : at]
        words = words or [" "]
    return "".join(words)


@pytest.mark.parametrize(
    "stem",
    [
        "struct_functions",
        "inline_asm",
        "constant_tables",
        "switch_table",
        "printing",
        "half2",
        "mma",
        "generic_pointers",
    ],
)
def test_mutated_ptx_is_read_or_refused(stem):
    text = ptx(stem, "debug")
    text = text[: text.find(".section")] if ".section" in text else text
    chance = random.Random(stem)
    refused = 0
    for _ in range(60):
        try:
            load(mutated(text, chance))
        except PtxError:
            refused += 1
    # Anything but PtxError fails the test by itself; a mutation that changes nothing is rare.
    assert refused > 30
