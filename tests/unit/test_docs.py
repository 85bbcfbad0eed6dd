"""Documentation that follows the code: headings for every verdict and diagnosis, links that lead somewhere."""

import re
from pathlib import Path

import pytest

from judge.backends.cpu.fragments import MMA_FORMS, WMMA_FORMS
from judge.backends.cpu.ptx.instructions import FORMS, GPU_ONLY
from judge.catalogue import find_problems
from judge.cli.exits import Exit
from judge.records import DiagnosisKind
from judge.verdict import Verdict
from judge.verification.solutions import read_ladder

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)


def test_every_verdict_and_diagnosis_has_a_heading():
    text = (ROOT / "docs/verdicts.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\w+)$", text, re.M)
    assert headings == [v.value for v in Verdict] + [k.value for k in DiagnosisKind]


def test_readme_shows_the_table_of_exit_codes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (\d+) \| (.+) \|$", text, re.M)
    assert shown == [(str(int(code)), code.meaning) for code in Exit]


def test_verdicts_have_the_exit_codes_of_the_table():
    assert {verdict.exit_code for verdict in Verdict} <= {int(code) for code in Exit}
    assert {v for v in Verdict if v.exit_code == Exit.ACCEPTED} == {Verdict.ACCEPTED}
    assert {v for v in Verdict if v.exit_code == Exit.COMPILE_ERROR} == {Verdict.COMPILE_ERROR, Verdict.LAUNCH_ERROR}
    assert {v for v in Verdict if v.exit_code == Exit.JUDGE_OR_MACHINE} == {Verdict.JUDGE_ERROR}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


def test_the_page_on_ladders_has_the_order_of_the_problems():
    text = (ROOT / "docs/ladders.md").read_text(encoding="utf-8").partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z0-9-]+) \| ([^|]+) \| [^|]+ \|$", text, re.M)
    shown = {name: re.sub(r" \([^)]*\)", "", order).split(", ") for name, order in rows if name != "problem"}
    assert shown == {name: read_ladder(ROOT / "problems" / name) for name in find_problems()}


def test_readme_names_every_option_of_test():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    source = (ROOT / "judge/cli/commands/test.py").read_text(encoding="utf-8")
    named = set(re.findall(r'"(--[a-z-]+)"', source)) | {"--backend", "--cases", "--seed", "--format"}
    assert {option for option in named if f"`{option}" not in text} == set()


def test_the_page_on_instructions_names_every_one():
    text = (ROOT / "docs/cpu-instructions.md").read_text(encoding="utf-8")
    emulated, refused = text.split("## Refused by name")
    assert {opcode for opcode in FORMS if f"`{opcode}`" not in emulated} == {"brkpt"}
    assert {opcode for opcode in GPU_ONLY if f"`{opcode}`" not in refused} == set()


@pytest.mark.parametrize(("instruction", "forms"), [("mma.sync", MMA_FORMS), ("wmma", WMMA_FORMS)])
def test_the_page_on_instructions_shows_the_table_of_products(instruction, forms):
    text = (ROOT / "docs/cpu-instructions.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| `{re.escape(instruction)}` \| (.+?) \| (.+?) \| (.+?) \|$", text, re.M)
    shown = {
        type_: (tuple(shapes.split(", ")), tuple(sums.split(", ")))
        for types, sums, shapes in rows
        for type_ in types.removesuffix(" (mixed too)").split(", ")
    }
    assert shown == forms
