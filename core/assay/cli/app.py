"""The command line: arguments in, one clear line per error out, an exit code per kind.

Commands print results on standard output and progress and errors on standard error. What
a command works with is imported when it runs, so that help and mistakes answer at once.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from assay.api.errors import AssayError, Cancelled, UsageError
from assay.cli import check, host, new, run, show
from assay.cli.display import make_console

__all__ = ["app", "main"]

EXIT_CODES = """Exit codes: 0 as expected · 1 graded, and rejected · 2 usage · 3 invalid input,
calibration or ungradable · 4 sandbox or runtime unavailable · 5 integrity · 130 interrupted
(143 on SIGTERM). The most serious wins: 5 > 130 > 143 > 4 > 3 > 2 > 1 > 0."""

app = typer.Typer(
    name="assay",
    help="Find out what a coding agent, a patch or submitted files really did.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", short_help="Grade candidates in jails, and print the table.")(run.run)
app.command(
    "check", short_help="Verify that a suite's own candidates get the verdicts they declare."
)(check.check)
app.command("show", short_help="Explain a run, or why one trial was rejected.")(show.show)
app.add_typer(new.app, name="new")
app.command("lock", short_help="Pin the digests of a suite's tasks in suite.json.")(new.lock)
app.command("doctor", short_help="Tell what this host's sandbox offers, and how to fix the rest.")(
    host.doctor
)
app.command("plugins")(host.plugins)
app.command("schema")(host.schema)


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and leave.", callback=host.version),
    ] = False,
) -> None:
    """Shared options; every command has its own examples under --help."""


def main() -> None:
    """Entry point of the console script: never a traceback for a known kind of error."""
    try:
        code = app(standalone_mode=False)
    except AssayError as error:
        _tell(str(error))
        sys.exit(error.exit_code)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _tell("interrupted")
        sys.exit(Cancelled.exit_code)
    except BrokenPipeError:
        # The reader of our output is gone; Python would complain again while closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        usage = _usage_message(error)
        if usage is not None:
            _tell(usage, prefix="" if usage.startswith("Usage:") else "assay: ")
            sys.exit(UsageError.exit_code)
        if os.environ.get("ASSAY_DEBUG"):
            raise
        _tell(f"internal error: {type(error).__name__} (ASSAY_DEBUG=1 shows where)")
        sys.exit(3)
    sys.exit(code if isinstance(code, int) else 0)


def _usage_message(error: Exception) -> str | None:
    # The option parser's errors have no public base class that all its versions share.
    message = getattr(error, "format_message", None)
    if getattr(error, "exit_code", None) != UsageError.exit_code or message is None:
        return None
    text = str(message())
    # Without any argument the message is the help itself.
    return text if text.startswith("Usage:") else f"{text} (see assay --help)"


def _tell(message: str, prefix: str = "assay: ") -> None:
    from assay.reports.tables import safe

    make_console(stderr=True).print(prefix, safe(message), sep="")
