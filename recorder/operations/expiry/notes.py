"""Deletes notes, scores and bookmarks that are older than the project keeps them.

A note goes with its replies when none of them was written or edited for so long, whether it is resolved
or not. To keep a discussion, answer it, or pin the session, whose entries all stay.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from recorder.core.records import Json
from recorder.models import Note, Pin, Project
from recorder.notes import write
from recorder.operations import audit
from recorder.operations.audit import Actor

AT_ONCE = 200  # entries of one transaction, without their replies


def older(project: Project, before: datetime) -> QuerySet[Note]:
    """Return the entries that are older with their replies; no replies, and none of pinned sessions."""
    pins = Pin.objects.filter(project=project, session_id=OuterRef("session_id"))
    newer = Q(created_at__gte=before) | Q(edited_at__gte=before)
    answers = Note.objects.filter(newer, parent=OuterRef("pk"))
    return Note.objects.filter(~newer, ~Exists(pins), ~Exists(answers), project=project, parent=None)


def expire(project: Project, before: datetime, actor: Actor) -> int:
    """Delete the entries that are older, with their replies; return the number of all."""
    count = 0
    while found := list(older(project, before).order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        with transaction.atomic():
            count += write.delete_threads(project.pk, found)
    if count:
        after: Json = {"notes": count, "before": f"{before:%Y-%m-%d}"}
        audit.record(project, actor, "retention.prune", f"{project.slug} notes", after=after)
    return count
