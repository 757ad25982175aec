"""Deletes sessions whose last event is older than the project keeps records, as `session delete` does.

Pinned sessions stay. Tombstones keep a repeated stream from bringing a deleted session back.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from recorder.core.records import Json
from recorder.models import Pin, Project, Session
from recorder.operations import audit, deletion
from recorder.operations.audit import Actor

AT_ONCE = 100  # sessions hidden in one transaction


def older(project: Project, before: datetime) -> QuerySet[Session]:
    """Return the sessions whose last event is older, without pinned ones."""
    pins = Pin.objects.filter(project=project, session_id=OuterRef("session_id"))
    return Session.objects.filter(~Exists(pins), project=project, last_event_at__lt=before)


def expire(
    project: Project, before: datetime, actor: Actor, on_progress: Callable[[int], None] = lambda _: None
) -> int:
    """Delete the sessions that are older; return their number. An interrupted run is continued by the next.

    `on_progress` is called with the number of sessions that are deleted.
    """
    count = 0
    deletion.resume(project)
    while found := list(older(project, before).order_by("pk")[:AT_ONCE]):
        for begun in deletion.begin(project, found, actor):
            deletion.finish(begun)
            count += 1
            on_progress(1)
    if count:
        after: Json = {"sessions": count, "before": f"{before:%Y-%m-%d}"}
        audit.record(project, actor, "retention.prune", f"{project.slug} records", after=after)
    return count
