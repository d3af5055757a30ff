"""A command that only groups others: alone, it shows its help as a usage error."""

from __future__ import annotations

import sys

import typer

from assay.api import UsageError

__all__ = ["help_when_alone"]


def help_when_alone(context: typer.Context) -> None:
    """Show the help on standard error and leave, unless a command of the group was named."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(UsageError.exit_code)
