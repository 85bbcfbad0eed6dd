"""Prints how long the command line takes to answer: median and worst of several cold processes.

python tests/bench/startup_figures.py
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "practice" / "judge.py"
RUNS = 15
TARGET_S = 0.25


def measure(*arguments: str) -> list[float]:
    """Wall time in seconds of RUNS processes, after one that fills the caches of the file system."""
    times = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, str(SCRIPT), *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return times[1:]


def main() -> None:
    for arguments in (["--help"], ["test", "--help"], ["list"]):
        times = measure(*arguments)
        print(
            f"judge {' '.join(arguments):<12}  median {statistics.median(times) * 1e3:5.0f} ms  "
            f"worst {max(times) * 1e3:5.0f} ms  (target for --help {TARGET_S * 1e3:.0f} ms)"
        )


if __name__ == "__main__":
    main()
