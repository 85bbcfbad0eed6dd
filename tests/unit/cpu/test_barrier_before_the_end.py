"""A barrier is waited at even when nothing but the kernel's end follows it."""

from judge.backends.cpu.lowering.flow import EXIT, is_barrier, split_blocks
from judge.backends.cpu.ptx import load

PTX = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry k()
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 64;
    @%p1 bra $wait;
    bra.uni $end;
$wait:
    bar.sync 0;
$end:
    ret;
}
"""


def test_lanes_stop_at_a_barrier_that_only_the_end_follows():
    kernel = load(PTX).kernels["k"]
    blocks = split_blocks(kernel)
    waiting = [b for b in blocks if is_barrier(kernel.instructions[b.end - 1])]
    assert [b.successors != [EXIT] for b in waiting] == [True]
    branch = next(b for b in blocks if len(b.successors) == 2)
    assert EXIT in branch.successors or any(blocks[s].successors == [EXIT] for s in branch.successors)
