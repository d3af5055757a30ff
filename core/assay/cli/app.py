"""The command line: arguments in, one clear line per error out, an exit code per kind.

Commands print results on standard output and progress and errors on standard error. What
a command works with is imported when it runs, so that help and mistakes answer at once.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

from assay.api.errors import AssayError, Cancelled, Fault, UsageError
from assay.cli import check, clean, doctor, host, lint, new, probe, run, show
from assay.cli.display import make_console
from assay.cli.groups import help_when_alone
from assay.cli.signals import Stopped, stop_by_exception
from assay.cli.streams import guard_streams, output_failure

__all__ = ["app", "main"]

EXIT_CODES = """Exit codes: 0 as expected · 1 graded, and rejected · 2 usage · 3 invalid input,
calibration or ungradable · 4 sandbox or runtime unavailable · 5 integrity · 130 interrupted
(143 on SIGTERM). The most serious wins: 5 > 130 > 143 > 4 > 3 > 2 > 1 > 0."""

app = typer.Typer(
    name="assay",
    help="Find out what a coding agent, a patch or submitted files really did.",
    epilog=EXIT_CODES,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", short_help="Grade candidates in jails, and print the table.")(run.run)
app.command(
    "check", short_help="Verify that a suite's own candidates get the verdicts they declare."
)(check.check)
app.command("lint", short_help="Find hazards and weak tests of a suite; nothing is graded.")(
    lint.lint
)
app.command("show", short_help="Explain a run, or why one trial was rejected.")(show.show)
app.add_typer(new.app, name="new")
app.command("lock", short_help="Pin the digests of a suite's tasks in suite.json.")(new.lock)
app.command("doctor", short_help="Tell what this host's sandbox offers, and how to fix the rest.")(
    doctor.doctor
)
app.command("clean", short_help="Remove what killed processes left; what is in use stays.")(
    clean.clean
)
app.command("probe", short_help="Attack this host's sandbox, and tell what held.")(probe.probe)
app.command("plugins")(host.plugins)
app.command("schema")(host.schema)


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and leave.", callback=host.version),
    ] = False,
) -> None:
    """Shared options; every command has its own examples under --help."""
    help_when_alone(context)


def main() -> None:
    """Entry point of the console script: one line per error, the exit code of its kind."""
    guard_streams()
    stop_by_exception()
    code = _code()
    if problem := output_failure():
        from assay.cli.exits import most_serious

        problem = f"standard output could not be written: {problem}"
        code = most_serious((code, _told(problem, Fault.exit_code, "Fault")))
    sys.stderr.flush()
    sys.exit(code)


def _code() -> int:
    """Run the command; whatever it raises becomes a message and a code."""
    try:
        code = app(standalone_mode=False)
    except AssayError as error:
        return _told(str(error), error.exit_code, type(error).__name__)
    except typer.Exit as error:
        return int(error.exit_code)
    except (Stopped, typer.Abort) as error:
        code = error.exit_code if isinstance(error, Stopped) else Cancelled.exit_code
        return _told("interrupted", code, "Cancelled")
    except Exception as error:
        return _unexpected(error)
    return code if isinstance(code, int) else 0


def _unexpected(error: Exception) -> int:
    usage = _usage_message(error)
    if usage is not None:
        return _told(usage, UsageError.exit_code, "UsageError")
    if os.environ.get("ASSAY_DEBUG"):
        raise error
    if isinstance(error, OSError):
        return _told(_system_message(error), Fault.exit_code, "OSError")
    name = type(error).__name__
    told = f"internal error: {name} (ASSAY_DEBUG=1 shows where)"
    return _told(told, Fault.exit_code, name)


def _usage_message(error: Exception) -> str | None:
    # The option parser's errors have no public base class that all its versions share.
    message = getattr(error, "format_message", None)
    if getattr(error, "exit_code", None) != UsageError.exit_code or message is None:
        return None
    return f"{message()} (see assay --help)"


def _system_message(error: OSError) -> str:
    try:
        os.getcwd()
    except OSError:
        return "the current folder is gone; change to another one"
    return f"the system refused: {os.strerror(error.errno or 0)} (ASSAY_DEBUG=1 shows where)"


def _told(message: str, code: int, kind: str) -> int:
    """Tell an error on standard error, with --json as one line of JSON; gives the code back."""
    from assay.redaction import host_redactor
    from assay.reports.tables import sentence

    told = host_redactor(wide=False).text(message)
    if "--json" in sys.argv[1:]:
        document = {
            "schema": "assay-error-output-1",
            "error": kind,
            "message": sentence(told).plain,
            "exit_code": code,
        }
        print(json.dumps(document, ensure_ascii=True, sort_keys=True), file=sys.stderr)
    else:
        make_console(stderr=True).print("assay: ", sentence(told), sep="")
    return code
