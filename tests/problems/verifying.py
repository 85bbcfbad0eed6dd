"""What `judge verify --brief` proves, problem by problem: planted submissions get their verdicts on the CPU backend.

It is tried in two files, for pytest gives a whole file to one process.

Many problems have a kernel with the same mistake. Of those that share verdict and file name one is tried, each time
of another problem, for the time of a test run; JUDGE_VERIFY=all tries every one, and `make verify` runs all kernels
on all cases, too.
"""

import os
import zlib

from judge.catalogue import find_problems
from judge.verdict import Verdict
from judge.verification.selfcheck import Settings, checks_of, run_check

CHECKS = {problem_id: checks_of(problem_id) for problem_id in find_problems()}


def chosen(problem_id):
    """Names of the checks to run: all but those of a shared mistake that is another problem's turn."""
    names = []
    for check in CHECKS[problem_id]:
        sharing = [one for one, checks in CHECKS.items() if check.name in {other.name for other in checks}]
        own = check.submission is None or check.submission.folder == Verdict.ACCEPTED.value
        turn = sharing[zlib.crc32(check.name.encode()) % len(sharing)]
        if own or turn == problem_id or os.environ.get("JUDGE_VERIFY") == "all":
            names.append(check.name)
    return tuple(names)


def faults_of(problem_id):
    """What is not in order of a problem, as far as it is this run's turn."""
    only = chosen(problem_id)
    # In this process: one for each problem would import and make the runtime's code ten times.
    findings = [run_check(check, Settings(brief=True)) for check in CHECKS[problem_id] if check.name in only]
    assert len(findings) == len(only) > 10
    return [f"{finding.check}: {finding.text}" for finding in findings if not finding.ok]
