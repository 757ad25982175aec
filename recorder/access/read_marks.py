"""What people have seen of failures: a mark each, for its person alone, swept away when it has grown old."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from recorder.models import Project, Seen
from recorder.pubsub import invalidation

KEPT = timedelta(days=30)  # failures are shown for a day, and for another after each late event
ROWS = 200


def mark(user: User, project: Project, loops: Collection[int], now: datetime) -> None:
    """Note that a person has seen that these loops failed, and tell their open pages."""
    rows = [Seen(user=user, loop=loop, seen_at=now) for loop in loops]
    with transaction.atomic():
        Seen.objects.filter(user=user, seen_at__lt=now - KEPT).delete()
        Seen.objects.bulk_create(rows, batch_size=ROWS, ignore_conflicts=True)
    invalidation.publish(invalidation.Invalidation(project.pk, people={user.pk}))
