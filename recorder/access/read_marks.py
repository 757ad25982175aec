"""Per-user read markers for failed loops; a marker expires after 30 days."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from recorder.models import Project, ReadMark
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
