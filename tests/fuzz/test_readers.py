"""A short run of every target from a fixed seed; the long ones are `python -m tests.bench.fuzz_readers`."""

import pytest

from judge.backends.cpu.ptx import load
from tests.fuzz import reader_campaign, readers
from tests.fuzz.reader_campaign import run_target
from tests.fuzz.readers import TARGETS, examine_renderings
from tests.unit.reports.samples import make_report

EXECUTIONS = {"cubins": 4000, "wire": 2000, "compiler_frames": 2000}


@pytest.mark.parametrize("name", TARGETS)
def test_reader_takes_any_input(name):
    campaign = run_target(name, 20260, executions=EXECUTIONS.get(name, 250))
    assert [f"{finding.what}\n{finding.trace}" for finding in campaign.findings] == []
    assert len(campaign.outcomes) >= 4, "the inputs reach nothing"


def test_the_seeds_are_right_inputs():
    for text in readers._PTX:
        assert load(text).kernels
    (kernel,) = readers.kernel_resources(readers._ELF, "", {"k": "k"}, "sm_90")
    assert (kernel.registers, kernel.local_bytes, kernel.shared_bytes) == (40, 16, 512)


def test_a_campaign_reports_what_a_target_raises_and_how_to_get_there_again(monkeypatch):
    def breaks(random, grown):
        data = random.randbytes(1)
        if data == b"\x07":
            raise RuntimeError("seven")
        return data, "fine"

    monkeypatch.setitem(reader_campaign.TARGETS, "breaks", breaks)
    (finding,) = run_target("breaks", 1, executions=3000).findings
    assert finding.what == "RuntimeError: seven"
    again = run_target("breaks", 1, executions=finding.number)
    assert [one.number for one in again.findings] == [finding.number]


def test_the_examination_of_renderings_can_fail(monkeypatch):
    monkeypatch.setattr(readers, "render_text", lambda *a, **b: "ACCEPTED\nFORGED\n")
    with pytest.raises(AssertionError, match="FORGED"):
        examine_renderings(make_report(), "")
    monkeypatch.setattr(readers, "render_text", lambda *a, **b: "ACCEPTED\x1b[2J\n")
    with pytest.raises(AssertionError, match="0x1b"):
        examine_renderings(make_report(), "")
