"""`manage.py check_integrity`: read everything, say what does not fit."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from recorder.operations.integrity_check import findings


class Command(BaseCommand):
    """Changes nothing."""

    help = "Check the database, the journal and the records derived from it."

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
