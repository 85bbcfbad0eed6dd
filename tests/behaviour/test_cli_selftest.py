"""`judge selftest` as its user sees it: a table, a summary, an exit code."""

import json
from dataclasses import replace

import pytest
import typer

from judge.cli.commands.selftest import selftest
from judge.cli.commands.test import Backend
from judge.cli.output import Format
from judge.errors import UsageError
from judge.redteam import rows
from judge.verdict import Verdict


def ended(**options):
    with pytest.raises(typer.Exit) as caught:
        selftest(**options)
    return caught.value.exit_code


def test_rows_that_hold_make_a_table_and_the_tier(capsys):
    assert ended(names=["files/named-pipe", "launches/seventeen"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert sum(line.startswith("ok ") for line in lines) == 4
    assert any("files/named-pipe" in line and "to wait for ever" in line for line in lines)
    assert "got compile_error, right: compile_error" in out
    assert lines[-2].startswith("4 submissions, 0 promises broken, 0 known; ")
    assert lines[-1].startswith("isolation ")


def test_a_broken_promise_is_told_and_ends_with_1_and_a_known_one_does_not(capsys, monkeypatch):
    pipe = next(row for row in rows.catalogue() if row.id == "files/named-pipe")
    wrong = replace(pipe, id="wrong", expect=(Verdict.ACCEPTED,))
    monkeypatch.setattr(rows, "catalogue", lambda: (wrong, replace(wrong, id="known", known="the reason")))
    assert ended(format_=Format.JSON) == 1
    value = json.loads(capsys.readouterr().out)
    assert (value["schema_version"], value["ok"], value["backend"]) == (1, False, "cpu")
    by_name = {row["row"]: row for row in value["rows"]}
    assert (by_name["wrong"]["ok"], by_name["wrong"]["got"]) == (False, "compile_error")
    assert by_name["wrong"]["expected"] == ["accepted"]
    assert "where accepted is right" in by_name["wrong"]["faults"][0]
    assert by_name["known"]["known"] == "the reason"
    assert ended(names=["known"]) == 0


def test_names_and_backends_that_mean_nothing_are_refused(capsys):
    assert ended(names=["no-such-row"]) == 5
    with pytest.raises(UsageError, match="--backend cpu or"):
        selftest(backend=Backend.AUTO)


def test_a_damaged_catalogue_is_the_installations_fault(tmp_path, monkeypatch):
    (tmp_path / "bad.toml").write_text('[[row]]\nid = "x"\ntries = "something long"\nexpect = ["no_such_verdict"]\n')
    monkeypatch.setattr(rows, "FOLDER", tmp_path)
    with pytest.raises(rows.MachineError, match=r"bad\.toml"):
        rows.catalogue.__wrapped__()
