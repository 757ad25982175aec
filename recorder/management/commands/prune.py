"""`manage.py prune`: remove what is kept for a time only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from recorder.integrity import QUARANTINE_DAYS
from recorder.journal import prune_quarantine


class Command(BaseCommand):
    """For now the quarantine; in small transactions, so that the server may run."""

    help = f"Remove rejected lines that are older than {QUARANTINE_DAYS} days."

    def handle(self, **_: Any) -> None:
        """Remove them."""
        count = prune_quarantine(timezone.now() - timedelta(days=QUARANTINE_DAYS))
        self.stdout.write(f"{count} rejected lines removed")
