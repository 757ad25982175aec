"""Per-user read markers for failed loops and for alarms about waste; a marker expires after 30 days."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from recorder.models import Project, ReadMark, WasteReadMark
from recorder.pubsub import invalidation

MARKER_LIFETIME = timedelta(days=30)  # a failure is listed for one day, and one more after each late event
BATCH_ROWS = 200


def mark(user: User, project: Project, loops: Collection[int], now: datetime) -> None:
    """Mark failed loops as read by `user`, delete expired markers, and publish to the user's pages."""
    rows = [ReadMark(user=user, loop=loop, seen_at=now) for loop in loops]
    with transaction.atomic():
        ReadMark.objects.filter(user=user, seen_at__lt=now - MARKER_LIFETIME).delete()
        ReadMark.objects.bulk_create(rows, batch_size=BATCH_ROWS, ignore_conflicts=True)
    invalidation.publish(invalidation.Invalidation(project.pk, people={user.pk}))


def mark_waste(user: User, project: Project, alarms: Collection[tuple[int, int]], now: datetime) -> None:
    """Mark alarms about waste, each a loop and a line, as read by `user`, as `mark` does failed loops."""
    rows = [WasteReadMark(user=user, loop=loop, line=line, seen_at=now) for loop, line in alarms]
    with transaction.atomic():
        WasteReadMark.objects.filter(user=user, seen_at__lt=now - MARKER_LIFETIME).delete()
        WasteReadMark.objects.bulk_create(rows, batch_size=BATCH_ROWS, ignore_conflicts=True)
    invalidation.publish(invalidation.Invalidation(project.pk, people={user.pk}))
