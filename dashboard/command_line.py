"""The command line: `loopscope COMMAND` of an installed package, `python manage.py COMMAND` of a checkout."""

from __future__ import annotations

import gc
import os
import sys

from django.core.management import execute_from_command_line

from recorder import __version__


def main() -> None:
    """Run the command that `sys.argv` names."""
    # Objects that imports create live as long as the process: collecting them took an eighth of a start.
    gc.set_threshold(100_000, 20, 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    if sys.argv[1:] in (["--version"], ["version"]):
        sys.stdout.write(f"{__version__}\n")
        return
    execute_from_command_line(sys.argv)
