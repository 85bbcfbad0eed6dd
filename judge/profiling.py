"""Runs one case of a submission under NVIDIA's tools and brings what they say back to its lines.

    compile with -lineinfo -> frames in a file -> ncu or compute-sanitizer around judge.worker.alone -> lines

ncu flushes the caches before each kernel and, told so, leaves the clocks alone: the same conditions as ours.
"""

import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from judge.backends.base import ModuleImage
from judge.comparing import Contestant
from judge.compiler import Compilation, Target, compile_unit
from judge.errors import JudgeError, MachineError, SubmissionError
from judge.events import EventSink, NullSink
from judge.examples import case_generator
from judge.gpu import gpu_present
from judge.problem import Case, Problem
from judge.records import Record
from judge.sandbox.view import PACKAGE_ROOT
from judge.submission.read import read_submission
from judge.submission.unit import SOURCE_NAME, TranslationUnit, build_unit
from judge.tools import find_tool
from judge.worker.messages import case_frame, load_frame
from judge.worker.requests import case_request
from judge.worker.session import Session
from judge.worker.wire import encode

TOOL_LIMIT_S = 300.0
FOUND_EXIT = 86
"""Exit code that compute-sanitizer is told to end with when it found something."""

SANITIZER_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SanitizerTool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]

METRICS = {
    "gpu__time_duration.sum": "duration",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute throughput",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory throughput",
    "dram__bytes_read.sum": "DRAM read",
    "dram__bytes_write.sum": "DRAM written",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM throughput",
    "lts__t_sector_hit_rate.pct": "L2 hit rate",
    "l1tex__t_sector_hit_rate.pct": "L1 hit rate",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy reached",
    "launch__registers_per_thread": "registers a thread",
}
SAMPLES = "# Samples"
"""Column of ncu's source page: how often a warp was seen at a line or an instruction."""

QUICK = ("gpu__time_duration.sum",)

_TO_US = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3, "second": 1e6, "s": 1e6}


class ToolMissingError(JudgeError):
    """NVIDIA's tool is not installed. Exit code 3."""


class Metric(Record):
    name: str
    value: str
    unit: str


class HotLine(Record):
    """A source line with its share of the stalled samples of all lines, 0 to 1."""

    line: int
    source: str
    share: float
    samples: int


class ProfiledKernel(Record):
    kernel: str
    duration_us: float
    metrics: tuple[Metric, ...]


class ProfileReport(Record):
    """The whole answer of `judge profile`."""

    schema_version: Literal[1] = 1
    problem: str
    submission: str
    case: str
    kernels: tuple[ProfiledKernel, ...]
    lines: tuple[HotLine, ...] = ()


class SanitizerFinding(Record):
    """One finding of compute-sanitizer. line: of the submission, where it names one."""

    message: str
    line: int | None = None
    source: str = ""
    details: tuple[str, ...] = ()


class SanitizeReport(Record):
    """The whole answer of `judge sanitize`."""

    schema_version: Literal[1] = 1
    problem: str
    submission: str
    case: str
    tool: SanitizerTool
    findings: tuple[SanitizerFinding, ...]
    verdict: str | None = None
    message: str = ""


_WITHOUT_GPU = {
    "ncu": "Without one `judge stats` counts what the launches do.",
    "compute-sanitizer": "Without one `judge test` finds races and wrong accesses on the CPU.",
}


def required_tool(name: str, package: str) -> Path:
    """Raises ToolMissingError, MachineError without a GPU."""
    if not gpu_present():
        raise MachineError(f"No NVIDIA GPU on this machine, and {name} needs one. {_WITHOUT_GPU[name]}")
    found = find_tool(name)
    if found is None:
        raise ToolMissingError(
            f"{name} is not installed. It comes with the CUDA toolkit, or as {package}; put its folder on PATH."
        )
    return found


def profile_submission(
    problem: Problem, one: Contestant, case: Case, seed: int, sink: EventSink | None = None, *, quick: bool = False
) -> ProfileReport:
    """Run a case under ncu. quick: its durations only.

    Raises ToolMissingError and MachineError as required_tool(), SubmissionError where it does not compile,
    ToolFailedError where ncu says nothing that can be read.
    """
    tool = required_tool("ncu", "Nsight Compute")
    with _Stage(problem, one, case, seed, sink or NullSink()) as stage:
        wanted = QUICK if quick else tuple(METRICS)
        options = ["--clock-control", "none", "--target-processes", "application-only", "--csv", "--page", "raw"]
        text = stage.run([str(tool), *options, "--kernel-name", stage.kernels, "--metrics", ",".join(wanted)])
        kernels = read_metrics(text)
        if not kernels:
            raise ToolFailedError("ncu", text)
        lines: tuple[HotLine, ...] = ()
        if not quick:
            options = [
                "--clock-control",
                "none",
                "--target-processes",
                "application-only",
                "--section",
                "SourceCounters",
            ]
            options += ["--import-source", "yes", "--source-folders", str(stage.folder)]
            options += ["--csv", "--page", "source", "--print-source", "cuda,sass"]
            lines = read_hot_lines(stage.run([str(tool), *options, "--kernel-name", stage.kernels]), stage.source)
    return ProfileReport(problem=problem.id, submission=one.name, case=case.name, kernels=kernels, lines=lines)


def sanitize_submission(
    problem: Problem, one: Contestant, case: Case, seed: int, tool: SanitizerTool, sink: EventSink
) -> SanitizeReport:
    """Run a case under compute-sanitizer. Raises as profile_submission()."""
    program = required_tool("compute-sanitizer", "cuda-sanitizer-api")
    with _Stage(problem, one, case, seed, sink) as stage:
        options = ["--tool", tool, "--error-exitcode", str(FOUND_EXIT), "--print-limit", "20"]
        text = stage.run([str(program), *options])
        if "=========" not in text:
            raise ToolFailedError("compute-sanitizer", text)
        findings = read_findings(text, stage.source)
    return SanitizeReport(problem=problem.id, submission=one.name, case=case.name, tool=tool, findings=findings)


class ToolFailedError(JudgeError):
    """A tool of NVIDIA ended without an answer that can be read. Exit code 3."""

    def __init__(self, tool: str, text: str) -> None:
        if "ERR_NVGPUCTRPERM" in text:
            super().__init__(
                f"{tool} may not read the GPU's counters here. Run it as root, or let the driver allow it for all "
                "users (NVreg_RestrictProfilingToAdminUsers=0)."
            )
            return
        tail = " / ".join(line.strip() for line in text.splitlines() if line.strip())[-600:]
        super().__init__(f"{tool} gave no figures. It said: {tail or 'nothing'}")


class _Stage:
    """A folder with the case's frames and the source, for a tool to be started in."""

    def __init__(self, problem: Problem, one: Contestant, case: Case, seed: int, sink: EventSink) -> None:
        self.source = one.data.decode("utf-8", "replace")
        submission = read_submission(one.data, one.name, problem)
        unit = build_unit(submission, problem, (problem.constants_of(case),))
        with Session("cuda") as session:
            arch = session.properties().arch
        sink.compiling("cuda")
        compilation = compile_unit(unit, Target("cubin", arch, "optimized"))
        _require(compilation)
        self.kernels = f"regex:^({'|'.join(sorted({re.escape(_base_name(name)) for name in unit.plans[0].kernels}))})$"
        inputs = problem.generate(case, case_generator(case, seed))
        request = case_request(problem, case, submission, unit.plans[0], compilation.lowered, inputs)
        self.folder = Path(tempfile.mkdtemp(prefix="kernel-judge-tool-"))
        self._write(unit, compilation, case_frame(request))
        sink.case_started("cuda", case.name, 1, 1)

    def _write(
        self, unit: TranslationUnit, compilation: Compilation, frame: tuple[dict[str, object], list[bytes | memoryview]]
    ) -> None:
        image = ModuleImage(compilation.image, unit.source, compilation.lowered)
        (self.folder / unit.source_name).write_text(unit.source, encoding="utf-8")
        with (self.folder / "frames").open("wb") as file:
            for header, blobs in (load_frame(image), frame):
                file.writelines(encode(header, blobs))

    def __enter__(self) -> "_Stage":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command: Sequence[str]) -> str:
        """What the tool wrote, stdout and stderr together. Raises MachineError when it does not end."""
        runner = [sys.executable, "-P", "-m", "judge.worker.alone", str(self.folder / "frames")]
        paths = [str(PACKAGE_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ended = subprocess.run(
                [*command, *runner],
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TOOL_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MachineError(
                f"{Path(command[0]).name} did not end within {TOOL_LIMIT_S:g} s. A smaller case may do: --case NAME."
            ) from None
        return ended.stdout.decode("utf-8", "replace")


def _require(compilation: Compilation) -> None:
    if compilation.ok:
        return
    first = next((m for m in compilation.messages if m.severity == "error"), None)
    if first is None:
        raise SubmissionError(compilation.log or "the compiler gave no reason")
    raise SubmissionError(first.message, first.line, first.column)


def _base_name(kernel: str) -> str:
    return kernel.partition("<")[0].rpartition("::")[2].strip()


def read_metrics(text: str) -> tuple[ProfiledKernel, ...]:
    """Kernels and metrics of ncu's raw page as CSV: a title row, a row of units, a row a kernel."""
    rows = list(csv.reader(io.StringIO(_table_of(text, '"ID"'))))
    if len(rows) < 3:
        return ()
    titles, units = rows[0], rows[1]
    name_at = titles.index("Kernel Name") if "Kernel Name" in titles else None
    kernels = []
    for row in rows[2:]:
        if len(row) != len(titles) or name_at is None:
            continue
        values = dict(zip(titles, row, strict=True))
        unit = dict(zip(titles, units, strict=True))
        duration = _number(values.get("gpu__time_duration.sum", ""))
        scale = _TO_US.get(unit.get("gpu__time_duration.sum", ""))
        if duration is None or scale is None:
            continue
        metrics = tuple(
            Metric(name=words, value=values[metric], unit=unit[metric])
            for metric, words in METRICS.items()
            if metric in values
        )
        kernels.append(ProfiledKernel(kernel=row[name_at], duration_us=duration * scale, metrics=metrics))
    return tuple(kernels)


def read_hot_lines(text: str, source: str, most: int = 10) -> tuple[HotLine, ...]:
    """Source lines with most samples of ncu's source page as CSV; empty where it has no such table.

    Each function of each file has a table, in which a line has a row and each of its instructions another. ncu does
    not escape quotes in source lines, so columns are counted from the right.
    """
    counts: Counter[int] = Counter()
    titles: list[str] = []
    ours = False
    for row in text.splitlines():
        cells = row.strip()[1:-1].split('","')
        if cells[0] == "File Path":
            ours = cells[-1].endswith(SOURCE_NAME)
        elif cells[0] == "Line No":
            titles = cells
        elif ours and SAMPLES in titles and cells[0].isdigit() and len(cells) >= len(titles):
            counts[int(cells[0])] += int(_number(cells[titles.index(SAMPLES) - len(titles)]) or 0)
    total = sum(counts.values())
    lines = source.splitlines()
    return tuple(
        HotLine(line=line, source=lines[line - 1].strip(), share=count / total, samples=count)
        for line, count in counts.most_common(most)
        if count and 0 < line <= len(lines)
    )


def read_findings(text: str, source: str, most: int = 20) -> tuple[SanitizerFinding, ...]:
    """The findings in compute-sanitizer's log, each with the first line of the submission that it names."""
    lines = source.splitlines()
    findings: list[SanitizerFinding] = []
    block: list[str] = []

    def close() -> None:
        if not block or re.match(r"COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|Target application|\(", block[0]):
            return
        place = next((found for line in block if (found := re.search(r"\.cu:(\d+)", line))), None)
        line = int(place[1]) if place else None
        shown = lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""
        details = tuple(line for line in block[1:] if not line.startswith(("Saved host", "Host Frame")))[:6]
        findings.append(SanitizerFinding(message=block[0], line=line, source=shown, details=details))

    for raw in text.splitlines():
        if not raw.startswith("========="):
            continue
        body = raw[len("=========") :]
        if body.startswith("     ") or not body.strip():
            if body.strip():
                block.append(body.strip())
            else:
                close()
                block = []
            continue
        close()
        block = [body.strip()]
    close()
    return tuple(findings[:most])


def _table_of(text: str, first: str) -> str:
    """What follows the first line that begins so, log lines of the tool left out."""
    lines = text.splitlines()
    begin = next((n for n, line in enumerate(lines) if line.startswith(first)), len(lines))
    return "\n".join(line for line in lines[begin:] if line.startswith('"'))


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
