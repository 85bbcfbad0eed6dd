"""The `judge` program: the list of commands, and the one place where errors become exit codes.

Only typer and the command modules' signatures are imported here; NumPy, pydantic, CuPy and the
compiler come in when a command needs them, so that `--help` answers at once.
"""

import sys
from typing import Annotated, NoReturn

import typer

import judge
from judge.blas import spare_the_cores
from judge.cli.commands.bench import bench
from judge.cli.commands.compare import compare
from judge.cli.commands.doctor import doctor
from judge.cli.commands.hint import hint
from judge.cli.commands.list import list_problems
from judge.cli.commands.new import new
from judge.cli.commands.next import show_next
from judge.cli.commands.profile import profile
from judge.cli.commands.prune import prune
from judge.cli.commands.roofline import roofline
from judge.cli.commands.sanitize import sanitize
from judge.cli.commands.schema import schema
from judge.cli.commands.selftest import selftest
from judge.cli.commands.serve import serve
from judge.cli.commands.show import show
from judge.cli.commands.solution import solution
from judge.cli.commands.start import start
from judge.cli.commands.stats import stats
from judge.cli.commands.test import judge_file
from judge.cli.commands.token import token
from judge.cli.commands.verify import verify
from judge.cli.commands.worker import worker
from judge.cli.commands.workers import workers
from judge.cli.entry import interruptible
from judge.cli.exits import Exit
from judge.cli.failures import report_failure
from judge.cli.program import program_name
from judge.cli.streams import prepare_streams

app = typer.Typer(
    name="judge",
    help="Judges CUDA kernels for attention exercises, with a GPU and without one.",
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(list_problems)
app.command("show")(show)
app.command("start")(start)
app.command("test")(judge_file)
app.command("stats")(stats)
app.command("bench")(bench)
app.command("roofline")(roofline)
app.command("compare")(compare)
app.command("profile")(profile)
app.command("sanitize")(sanitize)
app.command("hint")(hint)
app.command("solution")(solution)
app.command("doctor")(doctor)
app.command("selftest")(selftest)
app.command("schema")(schema)
app.command("new")(new)
app.command("verify")(verify)
app.command("serve")(serve)
app.command("worker")(worker)
app.command("workers")(workers)
app.command("prune")(prune)
app.add_typer(token, name="token")


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback when the judge itself fails.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Without a command: the next unsolved problem and what to type for it."""
    if version:
        from judge.cli.output import say

        say(f"kernel-judge {judge.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        show_next()


def run() -> NoReturn:
    """What judge.cli.entry leads to. Always ends the process with a code of judge.cli.exits."""
    arguments = sys.argv[1:]
    prepare_streams()
    spare_the_cores()
    try:
        interruptible()
        code = app(arguments, prog_name=program_name(), standalone_mode=False)
        if code == Exit.INTERRUPTED:
            # Typer turns Ctrl-C into this code by itself and says nothing.
            raise KeyboardInterrupt
    except BaseException as error:  # the process border: every way out gets its exit code here
        code = report_failure(error, arguments)
    sys.exit(code if isinstance(code, int) else Exit.ACCEPTED)
