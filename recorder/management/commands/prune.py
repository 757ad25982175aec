"""`manage.py prune`: apply the retention of projects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from recorder.core.content.text import plural
from recorder.journal.streams import open_streams
from recorder.management.named_projects import projects_of
from recorder.management.progress_bar import Progress
from recorder.models import Project, Pruning
from recorder.operations import audit, audit_retention, retention
from recorder.operations.audit import Actor
from recorder.operations.expiry import notes, periods, records
from recorder.operations.expiry.preview import preview
from recorder.operations.integrity_check import QUARANTINE_DAYS
from recorder.search import deleted_words

EXPIRE: Mapping[str, Callable[[Project, datetime, Actor], int]] = {
    "records": records.expire,
    "notes": notes.expire,
}
QUARANTINE_AGE = timedelta(days=QUARANTINE_DAYS)
STREAM_AGE = timedelta(days=open_streams.STREAM_DAYS)
NOT_CONSOLIDATED = f"nothing is pruned before it is consolidated: run `{settings.COMMAND} consolidate`"


class Command(BaseCommand):
    """Works in small transactions beside the server. An interrupted run is continued by the next one."""

    help = (
        "Delete what is older than the retention of its project: bodies of lines, sessions with their "
        f"records, notes, and entries of the audit log; rejected lines older than {QUARANTINE_DAYS} days; "
        f"and what is held of messages without a delta for {open_streams.STREAM_DAYS} days."
    )
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the project."""
        parser.add_argument("--project", help="by default every project")
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def handle(self, *, project: str | None, dry_run: bool, **_: Any) -> None:
        """Remove them."""
        projects = projects_of(project)
        now = timezone.now()
        if dry_run:
            self._preview(projects, now, is_of_all=not project)
            return
        actor = audit.command("prune")
        bodies = sum(self._prune(each, now) for each in projects)
        sessions = sum(_expire(each, "records", now, actor) for each in projects)
        noted = sum(_expire(each, "notes", now, actor) for each in projects)
        deleted_words.remove()
        streams = open_streams.expire(now - STREAM_AGE)
        refused = retention.prune_quarantine(now - QUARANTINE_AGE)
        entries = self._prune_audit_log(projects, now, actor, is_of_all=not project)
        gone = plural(bodies, "body", "bodies"), plural(refused, "rejected line")
        more = {
            plural(sessions, "session"): sessions,
            plural(noted, "note"): noted,
            plural(streams, "open stream"): streams,
            f"{plural(entries, 'entry', 'entries')} of the audit log": entries,
        }
        old = "".join(f"; {words}" for words, number in more.items() if number)
        self.stdout.write(f"removed: {' and '.join(gone)}{old}")

    def _preview(self, projects: Iterable[Project], now: datetime, *, is_of_all: bool) -> None:
        for each in projects:
            found = preview(each, now)
            self.stdout.write(f"{each.slug}: {_summary(found.content, 'would be pruned')}")
            if found.sessions:
                lines = f"{plural(found.lines, 'line')} of {found.size:,} bytes"
                self.stdout.write(f"  and {plural(found.sessions, 'session')} with {lines}")
            if found.notes:
                self.stdout.write(f"  and {plural(found.notes, 'note')}, with scores and bookmarks")
            if found.entries:
                self.stdout.write(f"  and {plural(found.entries, 'entry', 'entries')} of the audit log")
        more = [
            plural(retention.old_quarantine(now - QUARANTINE_AGE).count(), "rejected line"),
            plural(open_streams.old(now - STREAM_AGE).count(), "open stream"),
        ]
        if is_of_all and (entries := audit_retention.preview(None, now)):
            more.append(f"{plural(entries, 'entry', 'entries')} of the audit log without a project")
        self.stdout.write(f"of all projects: {', '.join(more)}; nothing was changed")

    def _prune_audit_log(
        self, projects: Iterable[Project], now: datetime, actor: Actor, *, is_of_all: bool
    ) -> int:
        entries = sum(audit_retention.prune(each, now, actor) for each in projects)
        return entries + (audit_retention.prune_without_project(now, actor) if is_of_all else 0)

    def _prune(self, project: Project, now: datetime) -> int:
        progress = Progress(sys.stderr, retention.due(project, now), "lines")
        try:
            done = retention.prune(project, now, lambda lines: progress.advance(lines, project.slug))
        finally:
            progress.close()
        self.stdout.write(f"{project.slug}: {_summary(done)}")
        return done.lines if done else 0


def _expire(project: Project, kind: str, now: datetime, actor: Actor) -> int:
    """Delete what is older than the period of a project; return how much it was."""
    days = periods.days_of(project, kind)
    if days is None:
        return 0
    return EXPIRE[kind](project, periods.before(now, days), actor)


def _summary(done: Pruning | None, verb: str = "pruned") -> str:
    if done is None:
        return "bodies are never deleted"
    gone = f"{plural(done.lines, 'body', 'bodies')} {verb} ({done.size:,} bytes)"
    text = f"{gone} received before {done.before:%Y-%m-%d}"
    kept = {
        "not consolidated": done.unconsolidated,
        "pinned": done.pinned,
        "open": done.open,
        "needed by others": done.needed,
    }
    if reasons := ", ".join(f"{number:,} {why}" for why, number in kept.items() if number):
        text += f"; kept: {reasons}"
    return f"{text}; {NOT_CONSOLIDATED}" if done.unconsolidated else text
