"""`manage.py spans`: list acknowledged spans that could not be read and are set aside; try again."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from recorder.core.content.text import clean
from recorder.core.records import Json
from recorder.models import WaitingSpans
from recorder.operations import audit
from recorder.operations.spans_set_aside import found, retry


class Command(BaseCommand):
    """May run beside the server, which waits while a body is read."""

    help = "List the acknowledged spans that could not be read and are set aside, and try to read them again."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the action and the bodies."""
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="list what is set aside, a body a line")
        again = actions.add_parser("retry", help="read bodies again; one that fails stays as it is")
        again.add_argument("number", nargs="*", type=int, metavar="NUMBER", help="by default all")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        """List or read them."""
        rows = found()
        if action == "list":
            for row in rows:
                self.stdout.write("\t".join(_about(row)))
            return
        numbers = options["number"]
        if numbers and (missing := set(numbers) - set(rows.values_list("pk", flat=True))):
            raise CommandError(f"no spans are set aside under {', '.join(map(str, sorted(missing)))}")
        failed = 0
        for row in list(rows.filter(pk__in=numbers) if numbers else rows):
            fault = retry(row)
            failed += bool(fault)
            if not fault:
                after: Json = {"bytes": row.size}
                audit.record(row.project, audit.command("spans"), "spans.retry", str(row.pk), after=after)
            self.stdout.write(f"{row.pk}: {fault or 'read'}")
        if failed:
            raise CommandError(f"{failed} could not be read and stay set aside")


def _about(row: WaitingSpans) -> tuple[str, ...]:
    token = clean(getattr(row, "sender") or "") or f"token {row.token}"  # noqa: B009  it was annotated
    received = f"{row.received_at:%Y-%m-%d %H:%M}"
    return (
        str(row.pk),
        row.project.slug,
        token,
        row.address or "-",
        received,
        f"{row.size} bytes",
        row.fault,
    )
