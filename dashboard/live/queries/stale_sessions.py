"""Reports sessions that become stale: the passing of time changes what open pages show, without a commit.

A topic asks every few seconds which sessions of its project became stale since it last asked, and handles the
answer like the invalidation of a commit. Cost: one read of an index that holds unfinished sessions only, for
each project with open pages.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.conf import settings
from django.db.models import Q

from dashboard.shared.session_state import live, stale
from recorder.models import Session
from recorder.pubsub.invalidation import Invalidation

CHECK_S = 5.0  # between two checks, at most
CHECKS_PER_LIMIT = 10  # with a limit of a few seconds, checks are more frequent
CHECK_MIN_S = 0.2
TOUCHED_MAX = 500  # sessions touched between two checks that are looked at; pages show few


def check_interval_s() -> float | None:
    """Return the seconds between two checks; None when no session ever becomes stale."""
    limits = [s for s in (settings.LOOPSCOPE_STALE_S, settings.LOOPSCOPE_STALE_WAITING_S) if s]
    return max(CHECK_MIN_S, min(CHECK_S, min(limits) / CHECKS_PER_LIMIT)) if limits else None


def became_stale(project: int, since: datetime, now: datetime, touched: Collection[int]) -> Invalidation:
    """Return the sessions of a project that were live at `since` and are stale at `now`. One query.

    Of the `touched` ones, all that are stale: an event of long ago does not make a session live.
    """
    changed = live(since) | Q(pk__in=list(touched)[:TOUCHED_MAX])
    rows = Session.objects.filter(stale(now), changed, project=project)
    pks = set(rows.values_list("pk", flat=True))
    return Invalidation(project, sessions=set(pks), stale=pks)


def is_stale_now(session: int, now: datetime) -> bool:
    """Return whether a session is stale at `now`. One query."""
    return Session.objects.filter(stale(now), pk=session).exists()
