"""Every planted bug is found with its kind and line; no right kernel is accused; what is not found is written down."""

from collections.abc import Iterable

import numpy as np
import pytest

from judge.records import DiagnosisKind
from tests.zoo.harness import examine
from tests.zoo.specimen import ZOO, Specimen, specimens

BUGS = list(specimens("bugs"))
RIGHT = list(specimens("right"))
LIMITS = list(specimens("limits"))
ORDERS = list(specimens("orders"))
SIDE_BY_SIDE = (1, 2)
"""Threads of the judge: blocks one after another, and two at a time."""


def each(found: Iterable[Specimen]) -> pytest.MarkDecorator:
    cases = [
        pytest.param(
            s,
            id=s.path.stem,
            marks=[pytest.mark.xfail(strict=True, raises=AssertionError, reason=s.known_miss)] if s.known_miss else [],
        )
        for s in found
    ]
    return pytest.mark.parametrize("specimen", cases)


@each(BUGS)
def test_a_planted_bug_is_found_at_its_line(specimen: Specimen):
    for threads in SIDE_BY_SIDE:
        findings = examine(specimen, threads=threads)
        assert findings.verdict == specimen.verdict, findings.message
        if specimen.hot:
            assert any(f"line {line}:" in findings.message for line in specimen.hot), findings.message
            assert findings.proved == []
        if specimen.bug is None:
            continue
        mild = specimen.bug.mild
        told = findings.mild if mild else findings.proved
        found = {(d.kind.value, d.line) for d in told}
        lines = {specimen.bug.line, *specimen.others}
        places = {(specimen.bug.kind, line) for line in lines}
        further = {(m.kind, m.line) for m in specimen.also}
        # Which side of a race is seen first depends on the schedule; its sentence names the other line.
        assert found & places, (findings.message, [d.message for d in findings.diagnoses])
        assert found <= places | further, [(d.line, d.message) for d in told]
        first = next(d for d in told if (d.kind.value, d.line) in places)
        assert specimen.says in first.message
        if specimen.others and len(found) == 1 and first.kind is DiagnosisKind.RACE:
            assert any(f"line {there}" in first.message for there in lines - {first.line}), first.message


@each(RIGHT)
def test_a_right_kernel_is_not_accused(specimen: Specimen):
    for threads in SIDE_BY_SIDE:
        findings = examine(specimen, threads=threads)
        assert findings.verdict is None, findings.message
        assert [d.message for d in findings.proved] == []
        assert len(findings.mild) == specimen.warnings, [d.message for d in findings.mild]
        assert findings.out is not None
        np.testing.assert_allclose(findings.out, specimen.expected_output(), rtol=1e-5)


@each(LIMITS)
def test_what_is_said_not_to_be_found_is_not_found(specimen: Specimen):
    """One that is found belongs among the bugs, and its line in limits/README.md goes."""
    assert specimen.bug is not None
    for threads in SIDE_BY_SIDE:
        findings = examine(specimen, threads=threads)
        assert findings.verdict is None, findings.message
        assert findings.proved == []


@each(ORDERS)
def test_what_depends_on_the_order_comes_out_otherwise_in_another_one(specimen: Specimen):
    """The schedules that hidden cases run by: as numbered, backwards, shuffled."""
    outs = []
    for schedule in (0, 1, 7):
        findings = examine(specimen, schedule=schedule)
        assert findings.proved == [], findings.message
        assert findings.out is not None
        outs.append(findings.out)
    np.testing.assert_allclose(outs[0], specimen.expected_output(), rtol=1e-5)
    assert not np.array_equal(outs[0], outs[1])
    assert not np.array_equal(outs[0], outs[2])


def test_every_limit_has_its_reason():
    text = (ZOO / "limits" / "README.md").read_text()
    assert [s.path.stem for s in LIMITS if f"`{s.path.stem}`" not in text] == []


def test_every_specimen_says_what_is_expected_of_it():
    assert [s.path.name for s in BUGS if s.bug is None and not s.hot] == []
    assert [s.path.name for s in RIGHT if s.bug is not None or not s.out] == []


def test_a_local_array_is_told_by_its_name():
    (found,) = examine(next(s for s in BUGS if s.path.stem == "uninitialized_accumulator_array")).proved
    assert (found.buffer, found.index) == ("acc", (0,))
