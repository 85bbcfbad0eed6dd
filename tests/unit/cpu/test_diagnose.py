"""Events of a run become diagnoses with names, lines and indices."""

import pytest

from judge.backends.base import BufferLabel
from judge.backends.cpu import ir
from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, MODULE_SLOT, slot_base
from judge.backends.cpu.diagnose import diagnose, readable_name
from judge.backends.cpu.events import AccessEvent, Party
from judge.records import DiagnosisKind

SOURCE = "__global__ void k(float* a)\n{\n    a[threadIdx.x] = 1;\n    __syncthreads();\n}\n"
SLOT = FIRST_BUFFER_SLOT + 1
LABELS = {SLOT: BufferLabel("K", 4, (2, 10, 8), "input")}


def _module(*, dynamic: bool = False, big: bool = False) -> ir.Module:
    at_line_3 = ir.Location("k.cu", 3, 5)
    in_header = ir.Location("cuda_fp16.hpp", 900, 1, inlined_at=ir.Location("k.cu", 4, 9))
    shared = [ir.Variable("_ZZ1kPfE4tile", "shared", 0, 64, 16), ir.Variable("_ZZ1kPfE5other", "shared", 64, 32, 16)]
    if dynamic:
        shared.append(ir.Variable("smem", "shared", 96, 0, 16))
    kernel = ir.Kernel(
        name="_Z1kPf",
        registers=(),
        instructions=(
            ir.Instruction("st", ("global", "f32"), (), (), location=at_line_3),
            ir.Instruction("bar", ("sync",), (), (), location=in_header),
            ir.Instruction("trap", (), (), ()),
        ),
        parameters=(),
        parameter_bytes=8,
        shared=tuple(shared),
        shared_static_bytes=96,
        local=(ir.Variable("acc", "local", 8, 16, 4),),
        local_bytes=24,
    )
    module_variable = ir.Variable("table", "global", 0, 40, 4)
    return ir.Module({"_Z1kPf": kernel}, (module_variable,), 40, (), 0, (9, 0), "sm_90")


def _event(**changes: object) -> AccessEvent:
    fields: dict[str, object] = {
        "kind": DiagnosisKind.OUT_OF_BOUNDS,
        "kernel": "_Z1kPf",
        "instruction": 0,
        "block": (3, 0, 0),
        "thread": (7, 1, 0),
        "action": "write",
        "space": "global",
        "address": slot_base(SLOT) + 160 * 4,
        "size": 4,
        "limit": 640,
    }
    return AccessEvent(**{**fields, **changes})  # type: ignore[arg-type]


def _one(event: AccessEvent, **kwargs: bool):
    (diagnosis,) = diagnose([event], _module(**kwargs), SOURCE, LABELS)
    return diagnosis


def test_past_the_end_names_line_thread_buffer_and_distance():
    diagnosis = _one(_event(address=slot_base(SLOT) + 162 * 4))
    assert diagnosis.kind == "out_of_bounds"
    assert (diagnosis.line, diagnosis.source) == (3, "a[threadIdx.x] = 1;")
    assert (diagnosis.kernel, diagnosis.block, diagnosis.thread) == ("k", (3, 0, 0), (7, 1, 0))
    assert (diagnosis.buffer, diagnosis.index) == ("K", (162,))
    assert "writes 4 bytes of K at element 162 (its elements are 0 to 159, shape 2x10x8)" in diagnosis.message
    assert diagnosis.hint


def test_index_inside_is_in_the_shape_of_the_buffer():
    diagnosis = _one(_event(kind=DiagnosisKind.UNINITIALIZED, address=slot_base(SLOT) + 4 * (80 + 2 * 8 + 5)))
    assert diagnosis.index == (1, 2, 5)
    assert "reads K[1][2][5], which nothing was written to" in diagnosis.message


def test_before_the_start_belongs_to_the_buffer_whose_tag_was_borrowed_from():
    diagnosis = _one(_event(address=slot_base(SLOT) - 4))
    assert (diagnosis.buffer, diagnosis.index) == ("K", (-1,))
    assert "of K at element -1 (its elements are 0 to 159" in diagnosis.message
    assert "negative" in diagnosis.hint


def test_an_access_across_the_end_counts_the_bytes_outside():
    diagnosis = _one(_event(address=slot_base(SLOT) + 632, size=16))
    assert "8 of them past its end" in diagnosis.message
    assert diagnosis.index == (1, 9, 6)


def test_an_index_that_wrapped_at_32_bits_is_told_as_overflow():
    diagnosis = _one(_event(address=slot_base(SLOT) + 4 * (5 - 2**32)))
    assert diagnosis.kind == "int_overflow_address"
    assert "element 5 was meant" in diagnosis.message


@pytest.mark.parametrize(
    ("address", "words"), [(0, "null pointer"), (12, "null pointer"), (slot_base(77), "lies in no buffer")]
)
def test_addresses_outside_every_buffer(address: int, words: str):
    diagnosis = _one(_event(address=address, limit=None))
    assert words in diagnosis.message
    assert diagnosis.buffer is None


def test_shared_names_the_array_and_its_own_index():
    diagnosis = _one(_event(space="shared", address=96, limit=96))
    assert (diagnosis.buffer, diagnosis.index) == ("other", (8,))
    diagnosis = _one(_event(space="shared", address=96 + 40, limit=128), dynamic=True)
    assert diagnosis.buffer == "smem"
    assert "at element 10 (its elements are 0 to 7)" in diagnosis.message


def test_shared_without_bytes_says_so():
    diagnosis = _one(_event(space="shared", address=96, limit=96), dynamic=True)
    assert "has no bytes" in diagnosis.message


def test_local_and_module_variables_are_named():
    assert _one(_event(space="local", address=24, limit=24)).buffer == "acc"
    diagnosis = _one(_event(address=slot_base(MODULE_SLOT) + 40))
    assert (diagnosis.buffer, diagnosis.index) == ("table", (10,))


def test_a_location_in_a_header_counts_where_the_user_called_it():
    diagnosis = _one(_event(kind=DiagnosisKind.DIVERGENT_BARRIER, instruction=1, space="", action=""))
    assert diagnosis.line == 4
    assert _one(_event(kind=DiagnosisKind.TRAP, instruction=2, space="")).line is None


def test_a_race_names_both_threads_and_lines():
    other = Party(0, (3, 0, 0), (9, 0, 0), "read")
    diagnosis = _one(_event(kind=DiagnosisKind.RACE, space="shared", address=8, other=other))
    assert "(7, 1, 0)" in diagnosis.message
    assert "which thread (9, 0, 0) reads at line 3; no barrier lies between" in diagnosis.message
    assert diagnosis.index == (2,)


def test_one_diagnosis_a_site_and_the_rest_counted():
    first, second = _event(count=3), _event(thread=(8, 1, 0), address=slot_base(SLOT) + 161 * 4)
    other_line = _event(instruction=1)
    diagnoses = diagnose([first, second, other_line], _module(), SOURCE, LABELS)
    assert [(d.line, d.occurrences) for d in diagnoses] == [(3, 4), (4, 1)]
    assert diagnoses[0].thread == (7, 1, 0)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z5flashILi64EEvPKf", "flash"),
        ("_ZZ5flashILi64EEvPKfE2sQ", "sQ"),
        ("_ZN2ns3addEv", "add"),
        ("_Z1k4Args", "k"),
        ("_Z4scan2InPf", "scan"),
        ("plain", "plain"),
        ("_Z", "_Z"),
    ],
)
def test_readable_names(symbol: str, name: str):
    assert readable_name(symbol) == name
