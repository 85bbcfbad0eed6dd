"""The process border of the command line: what an exception is to the user, and its exit code."""

import re
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise

import typer

from judge.cli.exits import Exit
from judge.cli.output import remark, say_json
from judge.cli.program import as_typed, program_name
from judge.cli.streams import drop_results, results_begun
from judge.errors import JudgeError, SubmissionError
from judge.reports.style import inert, one_line
from judge.worker.incidents import incident_folder, record_incident


def report_failure(error: BaseException, arguments: Sequence[str]) -> int:
    """Tell the user about an exception that ended a command; gives the exit code.

    Never shows a traceback unless --debug was given.
    """
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else Exit.JUDGE_OR_MACHINE
    json_wanted = _wants_json(arguments)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        if json_wanted:
            _say_json_error(Exit.INTERRUPTED, "interrupted", "Interrupted.")
        remark("\nInterrupted.")
        return Exit.INTERRUPTED
    if isinstance(error, typer.Exit):
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone (`judge list | head`); keep Python from complaining at exit.
        drop_results()
        return Exit.NOT_ACCEPTED
    if isinstance(error, typer.TyperException):
        # Typer raises it for the command line only: an unknown command or option, a bad value.
        return _tell(Exit.USAGE, "usage", one_line(_plain(error.format_message())), json_wanted, _usage_advice(error))
    if isinstance(error, SubmissionError):
        place = "".join(f"{part}:" for part in (error.line, error.column) if part is not None)
        return _tell(Exit.COMPILE_ERROR, "submission", f"{place} {error}".strip(), json_wanted)
    if isinstance(error, JudgeError):
        code = Exit(error.exit_code)
        return _tell(code, "usage" if code is Exit.USAGE else "machine", str(error), json_wanted)
    return _tell_incident(error, arguments, json_wanted)


def _tell(code: Exit, kind: str, message: str, json_wanted: bool, advice: str = "") -> int:
    message = inert(message)
    if json_wanted:
        _say_json_error(code, kind, message)
    remark(f"Error: {as_typed(message)}" + (f"\n{advice}" if advice else ""))
    return code


def _say_json_error(code: Exit, kind: str, message: str) -> None:
    # After the result, or a part of it, a second value would make both unreadable.
    if not results_begun():
        say_json({"schema_version": 1, "error": {"kind": kind, "message": message, "exit_code": int(code)}})


def _tell_incident(error: BaseException, arguments: Sequence[str], json_wanted: bool) -> int:
    details = "".join(traceback.format_exception(error))
    incident = record_incident("command line", details)
    if "--debug" in arguments:
        sys.stderr.write(details)
    message = f"The judge failed ({type(error).__name__}); this is not your kernel's fault. Incident {incident}."
    advice = (
        f"Details are in {incident_folder() / incident}.txt; please report them. "
        f"`{program_name()} --debug ...` shows them at once."
    )
    return _tell(Exit.JUDGE_OR_MACHINE, "judge", message, json_wanted, advice)


_VALIDATION_WORDS = (
    (r"Value error, ", ""),
    (r"Input should be greater than or equal to (-?\d+)$", r"must be at least \1."),
    (r"Input should be less than or equal to (-?\d+)$", r"must be at most \1."),
    (r"Input should be a valid integer.*$", "must be a whole number."),
)


def _plain(message: str) -> str:
    """Typer's words for a bad value without those of the library that found it."""
    for words, plain in _VALIDATION_WORDS:
        message = re.sub(words, plain, message)
    return message


def _usage_advice(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else program_name()
    return f"Try `{command} --help`."


def _wants_json(arguments: Sequence[str]) -> bool:
    return "--format=json" in arguments or any(
        first == "--format" and second == "json" for first, second in pairwise(arguments)
    )
