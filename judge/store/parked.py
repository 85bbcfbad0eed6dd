"""The report of a submission that was given up by the judge before any attempt could write one."""

import judge
from judge.compiler.target import CPU_ARCH
from judge.records import BackendReport, CompileReport, ProblemReference, Report, SubmissionReport
from judge.reports.json import render_json
from judge.store.models import Submission
from judge.verdict import Verdict


def parked_report(submission: Submission, source_bytes: int, message: str, incident: str) -> str:
    """JSON of a report with verdict judge_error."""
    backend = BackendReport(kind="cpu", device="not used", arch=CPU_ARCH, isolation="none")
    return render_json(
        Report(
            judge_version=judge.__version__,
            submission=SubmissionReport(
                name=submission.name, sha256=submission.source_sha256, source_bytes=source_bytes
            ),
            problem=ProblemReference(id=submission.problem_id, version=submission.problem_version),
            verdict=Verdict.JUDGE_ERROR,
            message=message,
            backend=backend,
            backends=(backend,),
            seed=submission.seed or 0,
            compile=CompileReport(ok=False),
            incident=incident,
        )
    )
