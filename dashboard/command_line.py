"""The command line: `loopscope COMMAND` of an installed package, `python manage.py COMMAND` of a checkout."""

from __future__ import annotations

import errno
import gc
import logging
import os
import signal
import sys

from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand

from recorder import __version__

WITHOUT_DATABASE = {"help", "tail"}
UNWRITABLE = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
HELP_OPTIONS = {"-h", "--help", "--version"}


class CommandLine(ManagementUtility):
    """Django's command line, refusing every command on a database that a newer version has migrated."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command. Exits with status 1 if it must not use the database."""
        if subcommand != "up":  # the pool warns of each attempt to connect; a command fails in one line
            logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
        is_offline = WITHOUT_DATABASE & set(self.argv[1:2]) or HELP_OPTIONS & set(self.argv[1:])
        if not is_offline and (reason := _newer_schema() or _not_set_up(subcommand)):
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
    try:
        CommandLine(sys.argv).execute()
        sys.stdout.flush()
    except Exception as error:
        _exit_if_unwritable(error)
        if (reason := _unusable(error)) is None:
            raise
        sys.exit(reason)


def _newer_schema() -> str | None:
    from recorder.operations import startup_checks  # noqa: PLC0415  needs configured settings

    return startup_checks.newer_schema()


def _not_set_up(subcommand: str) -> str | None:
    """Return what to do first for a command that uses records and does not create the database itself."""
    from recorder.operations import startup_checks  # noqa: PLC0415  as above

    return startup_checks.not_set_up() if get_commands().get(subcommand) == "recorder" else None


def _exit_if_unwritable(error: Exception) -> None:
    """Exit if an open file, above all standard output, took no more bytes.

    A gone reader ends a command as SIGPIPE does, without a word; a full disk with one line and status 1.
    """
    if not isinstance(error, OSError) or error.filename is not None or error.errno not in UNWRITABLE:
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes when it ends
    sys.exit(128 + signal.SIGPIPE if error.errno == errno.EPIPE else f"Cannot write: {error.strerror}")


def _unusable(error: Exception) -> str | None:
    """Return one line for a store that cannot be used; None for a bug, whose traceback is shown."""
    from django.conf import settings  # noqa: PLC0415  as above

    if not settings.configured:
        return None
    from recorder.operations import startup_checks  # noqa: PLC0415  as above

    return startup_checks.unusable(error)
