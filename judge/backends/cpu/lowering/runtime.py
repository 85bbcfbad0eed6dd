"""The runtime under generated code, as LLVM text: memory access, faults, barriers, the CTA loop.

It is compiled once a process, before any submission is seen. Vector loads and stores take the
short way when the lanes are contiguous in one allocation, and else go lane by lane, which is where
every fault is found: each lane's address is resolved on its own, so lanes may hit different
buffers and a report is exact.
"""

from judge.backends.cpu.lowering.runtime_access import load, store
from judge.backends.cpu.lowering.runtime_async import asynchronous_copies
from judge.backends.cpu.lowering.runtime_checks import checked, faults, resolve, traffic
from judge.backends.cpu.lowering.runtime_gather import gather_traffic
from judge.backends.cpu.lowering.runtime_lanes import INTERFACE as LANES_INTERFACE
from judge.backends.cpu.lowering.runtime_lanes import lanes
from judge.backends.cpu.lowering.runtime_matrix import matrix_rows
from judge.backends.cpu.lowering.runtime_order import conflict, tick
from judge.backends.cpu.lowering.runtime_patterns import patterns
from judge.backends.cpu.lowering.runtime_schedule import release, run
from judge.backends.cpu.lowering.runtime_unset import unset_copies
from judge.backends.cpu.lowering.runtime_values import fp8, half, lane_functions, printf, quotients, upper_halves
from judge.backends.cpu.lowering.runtime_vectors import load_vector, store_vector, uniform_access
from judge.backends.cpu.lowering.runtime_watch import watch
from judge.backends.cpu.lowering.runtime_watch_access import watched_access
from judge.backends.cpu.lowering.runtime_watch_lanes import local_memory, members
from judge.backends.cpu.lowering.runtime_watch_rows import DECLARATIONS as WATCH_DECLARATIONS
from judge.backends.cpu.lowering.runtime_watch_rows import rows

VECTOR_FORMS = [(8, 2), (8, 4), (16, 2), (16, 4), (32, 2), (32, 4), (64, 2), (32, 8), (64, 4)]
WIDTH_BITS = [8, 16, 32, 64]

DECLARATIONS = """
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare float @log2f(float)
declare float @sinf(float)
declare float @cosf(float)
declare float @tanhf(float)
"""


def interface() -> str:
    """Declarations of the runtime for a kernel's module."""
    lines = [LANES_INTERFACE]
    for bits in WIDTH_BITS:
        lines.append(f"declare <32 x i{bits}> @judge_load_{bits}(ptr, ptr, <32 x i64>, i32, i32)")
        lines.append(f"declare void @judge_store_{bits}(ptr, ptr, <32 x i64>, <32 x i{bits}>, i32, i32)")
    for bits, count in VECTOR_FORMS:
        lines.append(f"declare void @judge_load_{bits}x{count}(ptr, ptr, <32 x i64>, i32, i32, ptr)")
        lines.append(f"declare void @judge_store_{bits}x{count}(ptr, ptr, <32 x i64>, ptr, i32, i32)")
    lines += [
        "declare i64 @judge_uniform_load(ptr, ptr, i64, i32, i32, i64)",
        "declare void @judge_uniform_store(ptr, ptr, i64, i64, i32, i32, i64)",
        "declare void @judge_uniform_vector(ptr, ptr, i64, i32, i32, i64, i32)",
        "declare ptr @judge_checked(ptr, ptr, i32, i64, i64, i32, i1)",
        "declare ptr @judge_resolve(ptr, ptr, i32, i64, i64, i1)",
        "declare void @judge_traffic(ptr, i64, i64, i64)",
        "declare void @judge_watch_any(ptr, ptr, i32, i64, i64, i32, i32)",
        "declare void @judge_watch_uniform_read(ptr, ptr, i64, i64, i32, i32)",
        "declare i32 @judge_unset(ptr, ptr, <32 x i64>, i32, i64)",
        "declare void @judge_carry_unset(ptr, ptr, <32 x i64>, i32, i64, i32, <32 x i64>)",
        "declare void @judge_tick_warp(ptr, ptr, i64)",
        "declare void @judge_fence(ptr, ptr, i32)",
        "declare void @judge_publish(ptr)",
        "declare void @judge_pattern(ptr, <32 x i64>, i32, i64, i32, i32)",
        "declare void @judge_members(ptr, ptr, i32, <32 x i32>, <32 x i32>, i32, i32)",
        "declare void @judge_mark(ptr, i64, i64)",
        "declare void @judge_rows_read(ptr, ptr, <32 x i64>, i32, i32, ptr)",
        "declare void @judge_rows_write(ptr, ptr, <32 x i64>, i32, i32, ptr)",
        "declare void @judge_async_copy(ptr, ptr, <32 x i64>, <32 x i64>, <32 x i32>, i32, i32, i32)",
        "declare void @judge_async_commit(ptr, ptr, i32)",
        "declare void @judge_async_wait(ptr, ptr, i32, i32)",
        "declare void @judge_fault(ptr, ptr, i32, i32, i32, i64, i32, i64, i64, i64)",
        "declare void @judge_printf(ptr, ptr, <32 x i64>, <32 x i64>, i32)",
        "declare float @judge_lg2_scalar(float)",
        "declare float @judge_sin_scalar(float)",
        "declare float @judge_cos_scalar(float)",
        "declare float @judge_tanh_scalar(float)",
        "declare <32 x float> @judge_lg2(<32 x float>)",
        "declare <32 x float> @judge_sin(<32 x float>)",
        "declare <32 x float> @judge_cos(<32 x float>)",
        "declare <32 x float> @judge_tanh(<32 x float>)",
        "declare <32 x i64> @judge_sdiv64(<32 x i64>, <32 x i64>)",
        "declare <32 x i64> @judge_udiv64(<32 x i64>, <32 x i64>)",
        "declare <32 x i64> @judge_umulhi64(<32 x i64>, <32 x i64>)",
        "declare <32 x i32> @judge_fp8_decode(<32 x i32>, i32)",
        "declare <32 x i32> @judge_fp8_encode(<32 x i32>, i32)",
    ]
    return "\n".join(lines)


def text() -> str:
    """The whole runtime module."""
    parts = [DECLARATIONS, WATCH_DECLARATIONS, faults(), resolve(), traffic(), checked()]
    parts += [
        lanes(),
        tick(),
        conflict(),
        watch(),
        local_memory(),
        members(),
        rows(),
        watched_access(),
        unset_copies(),
        gather_traffic(),
        patterns(),
    ]
    for bits in WIDTH_BITS:
        parts += [load(bits), store(bits)]
    for bits, count in VECTOR_FORMS:
        parts += [load_vector(bits, count), store_vector(bits, count)]
    parts += [
        uniform_access(),
        matrix_rows(),
        asynchronous_copies(),
        printf(),
        lane_functions(),
        quotients(),
        upper_halves(),
        fp8(),
        half(),
        release(),
        run(),
    ]
    return "\n".join(parts)
