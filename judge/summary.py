"""Small parts of a report that the pipeline puts together: verdicts in sum, devices, places."""

from collections.abc import Iterable

from judge.backends.base import UNKNOWN_INSTRUCTION, DeviceProperties
from judge.compiler import CPU_ARCH
from judge.records import BackendReport, CaseReport
from judge.selection import Options
from judge.verdict import Verdict
from judge.worker.session import Session


def all_accepted(reports: Iterable[CaseReport]) -> bool:
    return all(report.verdict is Verdict.ACCEPTED for report in reports)


def met_unknown_instructions(reports: Iterable[CaseReport]) -> bool:
    """Whether whatever failed did so at an instruction that the GPU does not know.

    The diagnosis says so and not the message, which may have the text of a launch line in it.
    """
    failed = [report for report in reports if report.verdict not in (Verdict.ACCEPTED, Verdict.NOT_RUN)]
    return bool(failed) and all(
        any(diagnosis.message == UNKNOWN_INSTRUCTION for diagnosis in report.diagnoses) for report in failed
    )


def backend_report(properties: DeviceProperties, session: Session) -> BackendReport:
    return BackendReport(
        kind="cpu" if properties.kind == "cpu" else "cuda",
        device=properties.name,
        arch=properties.arch,
        isolation=session.isolation,
        isolation_reasons=session.isolation_reasons,
    )


def unused_backend(options: Options) -> BackendReport:
    """What stands in a report that ended before any device was asked."""
    if options.backend == "cuda":
        return BackendReport(kind="cuda", device="not used", arch="", isolation="none")
    return BackendReport(kind="cpu", device="not used", arch=CPU_ARCH, isolation="none")


def place(backend: BackendReport) -> str:
    return "the CPU backend" if backend.kind == "cpu" else backend.device


def at(line: int | None, message: str) -> str:
    return f"line {line}: {message}" if line is not None else message
