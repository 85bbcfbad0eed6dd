"""The bug zoo on a GPU: what compute-sanitizer's tools say of each specimen, beside what the CPU backend says.

    python -m tests.gpu.zoo                   the table, for every specimen; see scripts/zoo_on_gpu.sh
    python -m tests.gpu.zoo bugs/oob_half     only these (shell patterns)
    python -m tests.gpu.zoo --one PATH        compile and launch one specimen on the GPU, with no CPU backend: what
                                              compute-sanitizer is started around

Each specimen runs in a process of its own, so that a sticky CUDA error ends with it. Kernels that never
end are not started on the GPU.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from judge.timing.events import launch_packed
from tests.zoo.specimen import ZOO, Specimen, include_folders, read_specimen, specimens

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOLDERS = ("bugs", "right", "limits")
ROOT = ZOO.parent.parent
FOUND_EXIT = 86
"""Exit status that compute-sanitizer gives the process when it has found something."""

RIGHT, WRONG, FAILED, NO_GPU = 0, 3, 4, 5
"""Exit statuses of --one. WRONG: a right kernel whose output is not what it should be."""

_FINDINGS = ("Invalid", "Uninitialized", "Barrier error", "Error:", "Warning:", "Program hit", "Misaligned")
_PLACE = re.compile(r"specimen\.cu:(\d+)")

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2


# one specimen, in its own process --------------------------------------------------------------


def compile_cubin(source: str, arch: str) -> bytes:
    """Optimised code with line numbers, as a learner's kernel runs on a GPU."""
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(source, "specimen.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"-arch={arch}", "-std=c++17", "-lineinfo", *include_folders()))
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError as error:
        raise RuntimeError(nvrtc.getProgramLog(program)) from error
    finally:
        nvrtc.destroyProgram(program)


def run_one(path: Path) -> int:
    """Launch a specimen. Prints `result: WORDS` on the last line; the exit status says the same."""
    try:
        from cupy_backends.cuda.api import driver, runtime

        properties = runtime.getDeviceProperties(0)
        arch = f"sm_{properties['major']}{properties['minor']}"
        runtime.free(0)
    except Exception as error:  # whatever keeps the GPU from starting is the answer
        print(f"result: no GPU: {error}", flush=True)
        return NO_GPU
    specimen = read_specimen(path)
    try:
        out = _launch(specimen, arch, driver, runtime)
    except (driver.CUDADriverError, runtime.CUDARuntimeError, RuntimeError) as error:
        print(f"result: failed: {_first_line(error)}", flush=True)
        return FAILED
    if not specimen.out:
        print("result: ended", flush=True)
        return RIGHT
    wrong = int(np.count_nonzero(~np.isclose(out, specimen.expected_output(), rtol=1e-4)))
    print(f"result: {'right' if not wrong else f'wrong in {wrong} of {specimen.n}'}", flush=True)
    return WRONG if wrong else RIGHT


def _launch(specimen: Specimen, arch: str, driver, runtime) -> np.ndarray:
    module = driver.moduleLoadData(compile_cubin(specimen.source, arch))
    function = driver.moduleGetFunction(module, "kernel")
    size = 4 * specimen.n
    inputs = np.arange(1, specimen.n + 1, dtype=np.float32)
    pointers = [int(runtime.malloc(size)) for _ in range(3)]
    runtime.memcpy(pointers[0], inputs.ctypes.data, size, _HOST_TO_DEVICE)
    # out and ws are left as they are: a fill would count as written for initcheck.
    arguments = np.array(pointers, np.uint64).tobytes() + np.int32(specimen.n).tobytes()
    launch_packed(driver, function, specimen.grid, specimen.block, specimen.shared_bytes, arguments)
    runtime.deviceSynchronize()
    out = np.zeros(specimen.n, np.float32)
    runtime.memcpy(out.ctypes.data, pointers[1], size, _DEVICE_TO_HOST)
    return out


# all of them ------------------------------------------------------------------------------------


@dataclass
class Row:
    """What everybody says of one specimen. gpu: the bare run; tools: by name, "" where it was not run."""

    name: str
    planted: str
    ours: str
    gpu: str = ""
    tools: dict[str, str] = field(default_factory=dict)


def find_sanitizer() -> Path | None:
    """compute-sanitizer on PATH, in a CUDA toolkit, or in an NVIDIA package of pip."""
    on_path = shutil.which("compute-sanitizer")
    if on_path:
        return Path(on_path)
    folders = [*sorted(Path("/usr/local").glob("cuda*/bin"), reverse=True)]
    folders += sorted(Path("/usr/local").glob("cuda*/compute-sanitizer"), reverse=True)
    folders += sorted(Path("/opt").glob("cuda*/bin"), reverse=True)
    for folder in map(Path, sys.path):
        folders += folder.glob("nvidia/**/bin") if (folder / "nvidia").is_dir() else []
        folders += folder.glob("nvidia/**/compute-sanitizer") if (folder / "nvidia").is_dir() else []
    for folder in folders:
        program = folder / "compute-sanitizer"
        if program.is_file() and os.access(program, os.X_OK):
            return program
    return None


def our_words(specimen: Specimen) -> str:
    """The CPU backend's answer in a few words, computed now."""
    from tests.zoo.harness import examine  # not at the top: a process of one specimen must start fast

    try:
        findings = examine(specimen)
    except Exception as error:  # a table of 300 rows must not end at one
        return f"error: {_first_line(error)}"
    told = [f"{d.kind.value} line {d.line}" + (" (warning)" if d.warning else "") for d in findings.diagnoses]
    return ", ".join(dict.fromkeys(told)) or findings.verdict or "nothing"


def planted_words(specimen: Specimen) -> str:
    if specimen.hot:
        return "never ends"
    if specimen.bug is None:
        return "right"
    return f"{specimen.bug.kind} line {specimen.bug.line}" + (" (warning)" if specimen.bug.mild else "")


def run_process(command: list[str], timeout_s: float, log: Path) -> tuple[int | None, str]:
    """(exit status, None when it was killed at its limit; output). The command and its output are appended to log."""
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    status: int | None
    try:
        # A session of its own: the tool starts the runner as a child, which must not outlive it.
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        status, output = 127, str(error)
    else:
        try:
            raw, _ = process.communicate(timeout=timeout_s)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raw, _ = process.communicate()
            status = None
        output = raw.decode("utf-8", "replace")
    with log.open("a") as file:
        file.write(f"$ {' '.join(command)}\n{output}\n[exit {status}, {time.monotonic() - began:.1f} s]\n\n")
    return status, output


def bare_words(status: int | None, output: str) -> str:
    if status is None:
        return "did not end"
    results = [line for line in output.splitlines() if line.startswith("result: ")]
    if results:
        return results[-1].removeprefix("result: ")
    return f"died: {status}"


def sanitizer_words(status: int | None, output: str) -> str:
    """The tool's first finding, or "nothing"."""
    if status is None:
        return "did not end"
    lines = [line.strip().lstrip("=").strip() for line in output.splitlines() if line.startswith("=====")]
    for number, line in enumerate(lines):
        if "SUMMARY" not in line and (line.startswith(_FINDINGS) or "hazard" in line):
            place = next((m[1] for text in lines[number : number + 6] if (m := _PLACE.search(text))), "?")
            return f"line {place}: {line}"[:90]
    summary = next((line for line in lines if "SUMMARY" in line), "")
    if status == FOUND_EXIT:
        return (summary or "found something")[:90]
    if not summary:
        return f"did not run: {_first_line(output)}"[:90]
    return "nothing"


def _first_line(text: object) -> str:
    return next(iter(str(text).strip().splitlines()), "")[:120]


def chosen(patterns: list[str]) -> Iterator[tuple[str, Specimen]]:
    for folder in FOLDERS:
        for specimen in specimens(folder):
            name = f"{folder}/{specimen.path.stem}"
            if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                yield name, specimen


def run_all(patterns: list[str], *, timeout_s: float, processes: int, budget_s: float, log: Path) -> list[Row]:
    """One row a specimen, in order. budget_s: no GPU process is started after so many seconds."""
    sanitizer = find_sanitizer()
    print(f"compute-sanitizer: {sanitizer or 'not found; kernels run bare'}", flush=True)
    end = time.monotonic() + budget_s
    no_gpu = threading.Event()

    def on_gpu(row: Row, specimen: Specimen) -> Row:
        runner = [sys.executable, "-m", "tests.gpu.zoo", "--one", str(specimen.path)]
        runs: list[tuple[str, list[str]]] = [("", runner)]
        if sanitizer is not None:
            options = ["--error-exitcode", str(FOUND_EXIT), "--print-limit", "4"]
            runs += [(tool, [str(sanitizer), "--tool", tool, *options, *runner]) for tool in TOOLS]
        for tool, command in runs:
            if no_gpu.is_set() or time.monotonic() > end:
                row.gpu = row.gpu or ("no GPU" if no_gpu.is_set() else "not started: out of time")
                break
            # compute-sanitizer slows the start of CUDA and of NVRTC down.
            status, output = run_process(command, timeout_s * (3 if tool else 1), log)
            if tool:
                row.tools[tool] = sanitizer_words(status, output)
                continue
            row.gpu = bare_words(status, output)
            if status == NO_GPU:
                no_gpu.set()
            if status is None:
                break  # it would not end under the tools either
        print(f"{row.name}: planted {row.planted}; ours {row.ours}; GPU {row.gpu}; {row.tools}", flush=True)
        return row

    # The CPU backend works in this thread only; the GPU's processes run beside it.
    pending: list[Future[Row]] = []
    with ThreadPoolExecutor(processes) as pool:
        for name, specimen in chosen(patterns):
            row = Row(name, planted_words(specimen), our_words(specimen))
            if specimen.hot:
                row.gpu = "not started: never ends"
                pending.append(pool.submit(lambda done=row: done))
            else:
                pending.append(pool.submit(on_gpu, row, specimen))
    return [future.result() for future in pending]


def tables(rows: list[Row]) -> tuple[str, str]:
    """(plain text, Markdown)."""
    used = [tool for tool in TOOLS if any(tool in row.tools for row in rows)]
    head = ["specimen", "planted", "ours", "bare on the GPU", *used]
    body = [[r.name, r.planted, r.ours, r.gpu, *(r.tools.get(tool, "") for tool in used)] for r in rows]
    widths = [min(48, max(len(line[k]) for line in [head, *body])) for k in range(len(head))]
    text = "\n".join(
        "  ".join(cell[:width].ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [head, *body]
    )
    marked = [[cell.replace("|", "\\|") for cell in line] for line in [head, ["---"] * len(head), *body]]
    return text, "\n".join(f"| {' | '.join(line)} |" for line in marked)


def summary(rows: list[Row]) -> str:
    """How many planted bugs each side told of, and how many right kernels it accused."""
    lines = []
    bugs = [r for r in rows if r.name.startswith("bugs/") and r.planted != "never ends" and "warning" not in r.planted]
    right = [r for r in rows if r.name.startswith("right/")]
    ran = [r for r in rows if r.tools]
    accused = [r for r in right if not (r.ours == "nothing" or all("(warning)" in w for w in r.ours.split(", ")))]
    told = [r for r in bugs if r.planted.split(" ")[0] in r.ours]
    lines.append(
        f"CPU backend: {len(told)} of {len(bugs)} bugs told, {len(accused)} of {len(right)} right ones accused"
    )
    if ran:
        named = [r for r in ran if any(_accuses(words) for words in r.tools.values())]
        of_bugs = [r for r in bugs if r.tools]
        of_right = [r for r in right if r.tools]
        lines.append(
            f"compute-sanitizer, four tools together: {len([r for r in named if r in of_bugs])} of {len(of_bugs)} "
            f"bugs told, {len([r for r in named if r in of_right])} of {len(of_right)} right ones accused"
        )
    outcomes = [r.gpu for r in right]
    lines.append(f"right kernels bare on the GPU: {outcomes.count('right')} of {len(outcomes)} came out right")
    return "\n".join(lines)


def _accuses(words: str) -> bool:
    return words != "nothing" and not words.startswith("did not")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="specimens as folder/name, with * and ?")
    parser.add_argument("--one", type=Path, metavar="PATH", help="launch this specimen and report")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="S", help="seconds a bare run may take")
    parser.add_argument("--budget", type=float, default=540.0, metavar="S", help="start no GPU process after this")
    parser.add_argument("--processes", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    options = parser.parse_args()
    if options.one is not None:
        return run_one(options.one)
    folder = Path(os.environ.get("OUT") or ROOT / "zoo_on_gpu")
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "zoo_log.txt"
    log.write_text("")
    rows = run_all(
        options.patterns, timeout_s=options.timeout, processes=options.processes, budget_s=options.budget, log=log
    )
    text, markdown = tables(rows)
    closing = summary(rows)
    (folder / "zoo.txt").write_text(f"{text}\n\n{closing}\n")
    (folder / "zoo.md").write_text(f"{markdown}\n\n{closing}\n")
    (folder / "zoo.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(f"\n{text}\n\n{closing}\n\nwritten to {folder}")
    return 0 if rows else 2


if __name__ == "__main__":
    sys.exit(main())
