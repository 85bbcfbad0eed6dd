"""The folder of a problem as an author fills it, and what its files must be.

    statement.md              what to do
    starter.cu                compiles and fails
    hints/1.md, 2.md, ...     shown one by one
    ladder.txt                the accepted kernels in the order to read them
    submissions/<verdict>/*.cu  kernels with the verdict they must get; header lines may say more

A header line of a submission narrows what is expected of it: `// expect-case: NAME`,
`// expect-diagnosis: KIND`, `// expect-mutant: ID`, `// expect-line: N`. `// needs-gpu: sm_90` says that the CPU
backend does not know its instructions: without a GPU it must be refused for just that, and compile for sm_90.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from judge.errors import MachineError
from judge.problem import Problem
from judge.records import DiagnosisKind
from judge.spelling import nearest
from judge.verdict import Verdict
from judge.verification.numbers import count_of
from judge.verification.solutions import ladder_faults

CHEAT = "cheat"
"""Folder of submissions that try to deceive the judge: they may get any verdict but accepted."""

SUBMISSION_FOLDERS = (*(verdict.value for verdict in Verdict), CHEAT)
TEMPLATE_WORD = "template-id"

_EXPECTATION = re.compile(r"^\s*//\s*(?:expect-([a-z]+)|(needs-gpu)):\s*(\S+)")
_HEADER_LINES = 40


@dataclass(frozen=True)
class Expectation:
    """What a submission's header lines ask for; None where it says nothing.

    gpu: the architecture it needs, where the CPU backend does not know its instructions.
    """

    case: str | None = None
    diagnosis: str | None = None
    mutant: str | None = None
    line: int | None = None
    gpu: str | None = None


@dataclass(frozen=True)
class PlantedSubmission:
    """A submission with a known verdict. folder: the name of the folder it lies in."""

    path: Path
    folder: str
    expectation: Expectation

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.path.name}"


def hint_files(folder: Path) -> list[Path]:
    """1.md, 2.md, ... in order, up to the first gap."""
    files: list[Path] = []
    while (path := folder / "hints" / f"{len(files) + 1}.md").is_file():
        files.append(path)
    return files


def planted_submissions(folder: Path) -> list[PlantedSubmission]:
    """Every submission with a known verdict, accepted ones first. Raises MachineError for a wrong header line."""
    root = folder / "submissions"
    return [
        PlantedSubmission(path, name, read_expectation(path))
        for name in SUBMISSION_FOLDERS
        for path in sorted((root / name).glob("*.cu"))
    ]


def is_planted(folder: Path, data: bytes) -> bool:
    """Whether these bytes are those of a submission that lies in the problem's folder."""
    size = len(data)
    paths = (path for name in SUBMISSION_FOLDERS for path in (folder / "submissions" / name).glob("*.cu"))
    return any(path.stat().st_size == size and path.read_bytes() == data for path in paths)


def read_expectation(path: Path) -> Expectation:
    """Raises MachineError for an unknown `expect-` word or a value of the wrong kind."""
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[:_HEADER_LINES], start=1):
        match = _EXPECTATION.match(line)
        if not match:
            continue
        word, needed, value = match.groups()
        if needed:
            if not re.fullmatch(r"sm_\d+", value):
                raise MachineError(f"{path}:{number}: needs-gpu wants an architecture such as sm_90, not {value!r}.")
            found["gpu"] = value
            continue
        if word not in {"case", "diagnosis", "mutant", "line"}:
            raise MachineError(f"{path}:{number}: expect-{word} is unknown; use case, diagnosis, mutant or line.")
        found[word] = value
    if "diagnosis" in found and found["diagnosis"] not in set(DiagnosisKind):
        raise MachineError(f"{path}: there is no diagnosis {found['diagnosis']!r}.")
    if "line" in found and not found["line"].isdigit():
        raise MachineError(f"{path}: expect-line needs a line number, not {found['line']!r}.")
    line_number = int(found["line"]) if "line" in found else None
    return Expectation(found.get("case"), found.get("diagnosis"), found.get("mutant"), line_number, found.get("gpu"))


def package_faults(problem: Problem) -> Iterator[str]:
    """What is missing or misnamed in a problem's folder, each as a sentence."""
    folder = problem.folder
    for name in ("statement.md", "starter.cu"):
        path = folder / name
        if not path.is_file() or not path.read_text(encoding="utf-8").strip():
            yield f"{name} is missing or empty"
    hints = hint_files(folder)
    if not hints:
        yield "hints/1.md is missing"
    yield from (f"hints/{path.name} is empty" for path in hints if not path.read_text(encoding="utf-8").strip())
    extra = sorted({path.name for path in (folder / "hints").glob("*")} - {path.name for path in hints})
    yield from (f"hints/{name} is never shown: hints are 1.md, 2.md, ... without a gap" for name in extra)
    names = {case.name for case in problem.cases}
    for requirement in problem.requirements:
        if requirement.baseline and requirement.baseline not in names:
            yield f"a requirement is measured against a case {requirement.baseline!r} that the problem does not have"
    yield from ladder_faults(folder)
    yield from _folder_faults(folder / "submissions")
    for submission in planted_submissions(folder):
        yield from _expectation_faults(problem, submission)


def _folder_faults(root: Path) -> Iterator[str]:
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        if path.name in SUBMISSION_FOLDERS:
            stray = sorted(p.name for p in path.iterdir() if p.suffix != ".cu")
            yield from (f"submissions/{path.name}/{name} is no .cu file and never judged" for name in stray)
            continue
        close = nearest(path.name, SUBMISSION_FOLDERS)
        advice = f"did you mean {close}?" if close else f"use one of {', '.join(SUBMISSION_FOLDERS)}"
        yield f"submissions/{path.name} is no verdict; {advice}"
    accepted = list((root / "accepted").glob("*.cu"))
    if len(accepted) < 2:
        yield f"submissions/accepted has {count_of(len(accepted), 'kernel')}; a plain one and a better one are needed"
    if not list((root / "wrong_answer").glob("*.cu")):
        yield "submissions/wrong_answer is empty: no kernel shows that the cases can fail one"


def _expectation_faults(problem: Problem, submission: PlantedSubmission) -> Iterator[str]:
    expectation = submission.expectation
    if expectation.case is not None and expectation.case not in {case.name for case in problem.cases}:
        yield f"{submission.name} expects a case {expectation.case!r} that the problem does not have"
    if expectation.mutant is not None and expectation.mutant not in {mutant.id for mutant in problem.mutants}:
        yield f"{submission.name} expects a mutant {expectation.mutant!r} that the problem does not have"


def copy_template(template: Path, target: Path, problem_id: str) -> None:
    """Copy problems/_template with its placeholder replaced by the new id.

    Raises MachineError when there is no template.
    """
    if not template.is_dir():
        raise MachineError(f"There is no template in {template}.")
    shutil.copytree(template, target, ignore=shutil.ignore_patterns("__pycache__"))
    for path in target.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(TEMPLATE_WORD, problem_id), encoding="utf-8")
