"""Every planted bug is found with its kind and line; no right kernel is accused."""

import pytest

from tests.zoo.harness import Specimen, examine, specimens

BUGS = list(specimens("bugs"))
RIGHT = list(specimens("right"))


@pytest.mark.parametrize("specimen", BUGS, ids=[s.path.stem for s in BUGS])
def test_a_planted_bug_is_found_at_its_line(specimen: Specimen):
    findings = examine(specimen)
    told = findings.mild if specimen.mild else findings.proved
    found = [(d.kind.value, d.line) for d in told]
    places = {(specimen.kind, line) for line in (specimen.line, specimen.other) if line is not None}
    assert found, (findings.verdict, findings.message)
    # Which side of a race is seen first depends on the schedule; its sentence names the other line.
    assert set(found) <= places, [d.message for d in told]
    if specimen.other is not None and len(found) == 1:
        there = specimen.other if told[0].line == specimen.line else specimen.line
        assert f"line {there}" in told[0].message


@pytest.mark.parametrize("specimen", RIGHT, ids=[s.path.stem for s in RIGHT])
def test_a_right_kernel_is_not_accused(specimen: Specimen):
    findings = examine(specimen)
    assert findings.verdict is None, findings.message
    assert [d.message for d in findings.proved] == []
    assert len(findings.mild) == specimen.warnings, [d.message for d in findings.mild]


def test_a_local_array_is_told_by_its_name():
    (found,) = examine(next(s for s in BUGS if s.path.stem == "uninitialized_accumulator_array")).proved
    assert (found.buffer, found.index) == ("acc", (0,))
