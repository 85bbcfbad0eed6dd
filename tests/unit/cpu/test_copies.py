"""Which reads count as copies: values that only end in thread-local memory."""

from judge.backends.cpu.lowering.copies import copied_bytes, quiet_reads
from judge.backends.cpu.lowering.flow import split_blocks
from judge.backends.cpu.lowering.layout import CtaShape
from judge.backends.cpu.lowering.uniformity import analyze
from judge.backends.cpu.ptx import load
from tests.fuzz.evaluate import kernel_text

LOCAL = ".local .align 8 .b8 box[32]; mov.u64 %d1, box;"


def found(body: str) -> tuple[list[str], set[str]]:
    """(forms of the quiet instructions, names of the copied bytes' registers that the body reads)."""
    kernel = load(kernel_text(LOCAL + body)).kernels["k"]
    spaces = analyze(kernel, split_blocks(kernel), shape=CtaShape.LINE).spaces
    quiet = [kernel.instructions[index].form for index in sorted(quiet_reads(kernel, spaces))]
    return [form for form in quiet if "local" in form], {kernel.registers[r].name for r in copied_bytes(kernel, spaces)}


def test_a_value_that_is_moved_from_local_memory_to_local_memory_is_copied():
    quiet, _ = found("ld.local.b64 %d2, [%d1]; mov.b64 %d3, %d2; st.local.b64 [%d1+8], %d3;")
    assert quiet == ["ld.local.b64"]


def test_a_value_that_is_added_or_leaves_the_thread_is_used():
    assert found("ld.local.b32 %r1, [%d1]; add.u32 %r2, %r1, 1; st.local.b32 [%d1+8], %r1;")[0] == []
    assert found("ld.local.b32 %r1, [%d1]; mov.b32 %r2, %r1; st.global.b32 [%out], %r2;")[0] == []
    assert found("ld.local.b64 %d2, [%d1]; st.local.b32 [%d2], 5;")[0] == []


def test_only_bytes_without_a_use_count_where_a_register_has_no_value():
    _, copied = found("cvt.u16.u8 %h2, %h1; st.local.u8 [%d1], %h2; st.local.u16 [%d1+2], %h3;")
    assert {"%h1", "%h2"} <= copied
    assert "%h3" not in copied
