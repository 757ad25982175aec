"""`manage.py check_integrity`: check the database, the journal and the records; change nothing."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from recorder.operations.integrity_check import findings


class Command(BaseCommand):
    """Read-only: prints each finding, exits with 1 if there is one."""

    help = "Check the database, the journal and the records derived from it."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def handle(self, **_: Any) -> None:
        """Print each finding; fail if there is one."""
        count = 0
        for finding in findings():
            self.stdout.write(finding)
            count += 1
        if count:
            raise CommandError(
                f"{count} findings; `{settings.COMMAND} rebuild` repairs records, not the journal"
            )
        self.stdout.write("nothing found: database, journal and records agree")
