import json
from pathlib import Path

import judge
from judge.doctor import Finding, examine, paste_safe


def test_findings_name_what_judging_needs(cli):
    findings = {finding.name: finding for finding in examine()}
    assert set(findings) >= {"judge", "problems", "nvrtc", "cupy", "jit", "gpu", "tools", "isolation", "cache"}
    assert findings["nvrtc"].status == "ok"
    assert findings["problems"].text == "2: first-step, second-step"


def test_tools_that_lack_are_no_fault(cli, monkeypatch):
    monkeypatch.setattr("judge.doctor.find_tool", lambda name: Path(name) if name == "ncu" else None)
    [told] = [finding for finding in examine() if finding.name == "tools"]
    assert told.status == "ok"
    assert "ncu found: judge profile; compute-sanitizer not installed: judge sanitize" in told.text


def test_everything_that_is_not_ok_says_how_to_mend_it():
    assert all(finding.fix for finding in examine() if finding.status != "ok")


def test_text_can_be_pasted_in_public(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "secret-name"))
    out = cli("doctor").out
    assert "secret-name" not in out
    assert str(Path(judge.__file__).resolve().parent.parent) not in out


def test_home_and_checkout_are_replaced(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    checkout = Path(judge.__file__).resolve().parent.parent
    safe = paste_safe(Finding("x", "ok", f"/home/somebody/.cache and {checkout}/problems"))
    assert safe.text == "~/.cache and <checkout>/problems"


def test_json_and_exit_code_agree(cli, monkeypatch):
    told = json.loads(cli("doctor", "--format", "json").out)
    assert told["ok"] is all(finding["status"] != "fail" for finding in told["findings"])


def test_missing_part_is_a_failure_with_exit_code_3(cli, monkeypatch, problems):
    for child in problems.iterdir():
        (child / "problem.py").unlink()
    outcome = cli("doctor")
    assert outcome.code == 3
    assert "fail  problems" in outcome.out
