"""Fuzzes what reads a stranger's input: `python -m tests.bench.fuzz_readers --seconds N [--seed N] [TARGET]...`.

Prints for each target the executions, the distinct outcomes (a cheap stand-in for coverage; they steer the run)
and the findings: what may not happen, whatever the input. Exit code 1 when there is one.
"""

import argparse
import pickle
import sys
import time
from pathlib import Path

from tests.fuzz.reader_campaign import run_target
from tests.fuzz.readers import TARGETS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=None, help="default: the time")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs of findings")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no target is called {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    seed = time.time_ns() % (1 << 32) if options.seed is None else options.seed
    found = 0
    for name in options.targets or TARGETS:
        campaign = run_target(name, seed, seconds=options.seconds)
        found += len(campaign.findings)
        print(
            f"{name:<16} seed {seed}: {campaign.executions} executions in {campaign.seconds:.0f} s, "
            f"{len(campaign.outcomes)} outcomes, {len(campaign.findings)} findings",
            flush=True,
        )
        for finding in campaign.findings:
            print(f"    execution {finding.number}: {finding.what}")
            print("".join(f"        {line}\n" for line in finding.trace.splitlines()[-9:]), flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{name}-{seed}-{finding.number}.pickle").write_bytes(pickle.dumps(finding.value))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
