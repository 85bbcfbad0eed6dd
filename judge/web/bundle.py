"""The replay bundle: source, report and the command that gives the same numbers again, in one archive."""

import io
import re
import shlex
import zipfile

from judge.records import Report
from judge.reports.json import render_json
from judge.reports.style import one_line

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}\.cu")
_MOMENT = (1980, 1, 1, 0, 0, 0)
"""Of every file, so that the same submission gives the same archive."""


def make_bundle(source: str, report: Report) -> bytes:
    """A zip archive. source: the submission's text."""
    name = report.submission.name if _NAME.fullmatch(report.submission.name) else "submission.cu"
    whole = ["judge", "test", name, "--problem", report.problem.id, "--seed", str(report.seed)]
    whole += ["--backend", report.backend.kind]
    commands = [shlex.join(whole)]
    asked = "All cases again:"
    if report.replay:
        asked = "All cases again, then the one that the report explains:"
        commands.append(report.replay.replace(shlex.quote(report.submission.name), name, 1))
    readme = (
        f"{report.verdict.label}: {report.problem.id}, version {report.problem.version}, "
        f"judge {report.judge_version}, seed {report.seed}\n"
        f"{one_line(report.message)}\n\n"
        f"{asked}\n\n" + "".join(f"    {one_line(command)}\n" for command in commands)
    )
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in ((name, source), ("report.json", render_json(report)), ("README.txt", readme)):
            archive.writestr(zipfile.ZipInfo(path, _MOMENT), text.encode("utf-8", "replace"))
    return written.getvalue()
