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
    assert (specimen.kind, specimen.line) in found, (found, [d.message for d in findings.diagnoses], findings.message)
    assert set(found) == {(specimen.kind, specimen.line)}, [d.message for d in told]
    if specimen.other is not None:
        assert f"line {specimen.other}" in told[0].message


@pytest.mark.parametrize("specimen", RIGHT, ids=[s.path.stem for s in RIGHT])
def test_a_right_kernel_is_not_accused(specimen: Specimen):
    findings = examine(specimen)
    assert findings.verdict is None, findings.message
    assert [d.message for d in findings.proved] == []
    assert len(findings.mild) == specimen.warnings, [d.message for d in findings.mild]
