"""The command line: `loopscope COMMAND` of an installed package, `python manage.py COMMAND` of a checkout."""

from __future__ import annotations

import gc
import os
import sys

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand

from recorder import __version__

WITHOUT_DATABASE = {"help", "tail"}
HELP_OPTIONS = {"-h", "--help", "--version"}


class CommandLine(ManagementUtility):
    """Django's command line, refusing every command on a database that a newer version has migrated."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command. Exits with status 1 if it must not use the database."""
        is_offline = WITHOUT_DATABASE & set(self.argv[1:2]) or HELP_OPTIONS & set(self.argv[1:])
        if not is_offline and (reason := _newer_schema()):
            sys.exit(reason)
        return super().fetch_command(subcommand)


def main() -> None:
    """Run the command that `sys.argv` names."""
    # Objects created by imports live as long as the process: collecting them took an eighth of the start
    # time.
    gc.set_threshold(100_000, 20, 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    if sys.argv[1:] in (["--version"], ["version"]):
        sys.stdout.write(f"{__version__}\n")
        return
    CommandLine(sys.argv).execute()


def _newer_schema() -> str | None:
    from recorder.operations import startup_checks  # noqa: PLC0415  needs configured settings

    return startup_checks.newer_schema()
