"""Machine code that one process made and another one uses."""

import dataclasses

import pytest

from judge.backends.cpu.lowering import jit
from judge.backends.cpu.lowering.jit import MachineCode

ONE = "define i32 @one() {\n  ret i32 1\n}\n"
TWO = "define i32 @two() {\n  ret i32 2\n}\n"


@pytest.fixture
def compiled(monkeypatch):
    """The texts that are really compiled."""
    texts = []
    parse = jit.llvm.parse_assembly
    monkeypatch.setattr(jit.llvm, "parse_assembly", lambda text: texts.append(text) or parse(text))
    return texts


def test_code_of_another_process_is_not_made_again(compiled):
    first = MachineCode()
    objects = first.object_file(ONE), first.object_file(TWO)
    second = MachineCode()
    second.offer(first.pack())
    del compiled[:]
    assert (second.object_file(ONE), second.object_file(TWO)) == objects
    assert not compiled
    assert second.pack() == b""  # nothing new to keep


def test_what_is_packed_is_everything_used_where_some_of_it_is_new():
    first = MachineCode()
    first.object_file(ONE)
    second = MachineCode()
    second.offer(first.pack())
    second.object_file(ONE)
    second.object_file(TWO)
    third = MachineCode()
    third.offer(second.pack())
    third.object_file(ONE)
    third.object_file(TWO)
    assert third.pack() == b""


@pytest.mark.parametrize("damage", [lambda p: p[:-1], lambda p: p[:20], lambda p: b"\xff" * 100, lambda p: p[1:]])
def test_damaged_code_is_made_anew(damage, compiled):
    first = MachineCode()
    whole = first.object_file(ONE)
    second = MachineCode()
    second.offer(damage(first.pack()))
    del compiled[:]
    assert second.object_file(ONE) == whole
    assert compiled == [ONE]


def test_code_of_another_processor_is_made_anew(compiled, monkeypatch):
    first = MachineCode()
    first.object_file(ONE)
    packed = first.pack()
    other = dataclasses.replace(jit.host_features(), cpu="x86-64")
    monkeypatch.setattr(jit, "host_features", lambda: other)
    second = MachineCode()
    second.offer(packed)
    del compiled[:]
    second.object_file(ONE)
    assert compiled == [ONE]


def test_code_of_another_level_is_made_anew(compiled):
    first = MachineCode()
    first.object_file(ONE, 0)
    del compiled[:]
    first.object_file(ONE, 1)
    assert compiled == [ONE]
