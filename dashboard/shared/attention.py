"""What needs a user's attention: open approvals of live sessions, and sessions that failed in 24 hours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dashboard.shared.compiled_query import compiled
from dashboard.shared.session_filter import FAILED, is_settled_root
from dashboard.shared.session_state import Cutoffs, live, live_since
from recorder.models import Approval, ReadMark, Session

FINISHED = ("completed", "limit")
LATELY = timedelta(hours=24)
MOST = 99  # counting stops above


@dataclass(frozen=True, slots=True)
class Count:
    """Open approvals and unread failures of a project for one user; root of the panel shell/attention."""

    waiting: int
    unseen: int

    @property
    def all(self) -> int:
        return self.waiting + self.unseen

    @property
    def text(self) -> str:
        return f"{MOST}+" if self.all > MOST else str(self.all)


@dataclass(frozen=True, slots=True)
class Counts:
    """The query of the panel shell/attention of one project; its keys are users."""

    project: int

    def __call__(self, users: Collection[int]) -> Mapping[int, Count]:
        """Return the counts by user. One query, and one more for each user."""
        now = timezone.now()
        waiting_count = len(_waiting(self.project, *Cutoffs.at(now).bounds))
        return {user: Count(waiting_count, len(_unseen(self.project, now - LATELY, user))) for user in users}


@compiled
def _waiting(
    project: int, running: datetime, waiting: datetime, earliest: datetime
) -> QuerySet[Approval, int]:
    rows = _open(project, live_since(running, waiting, earliest))
    return rows.values_list("pk", flat=True)[: MOST + 1]


@compiled
def _unseen(project: int, since: datetime, user: int) -> QuerySet[Session, int]:
    return _ended(project, FAILED, since).filter(~is_read_by(user)).values_list("pk", flat=True)[: MOST + 1]


def waiting(project: int, now: datetime) -> QuerySet[Approval]:
    """Return the open approvals of sessions that are not stale, unordered."""
    return _open(project, live(now))


def _open(project: int, is_live: Q) -> QuerySet[Approval]:
    # Waiting sessions are few and indexed; without this condition the whole project would be scanned.
    waits = Session.objects.filter(is_live, project=project, waiting__gt=0)
    return Approval.objects.filter(session__in=waits.values("pk"), resolved_at=None)


def ended(project: int, outcomes: Collection[str], now: datetime) -> QuerySet[Session]:
    """Return the sessions that ended with one of `outcomes` in the last 24 hours, unordered.

    Without sub-agents, which report to their parent.
    """
    return _ended(project, outcomes, now - LATELY)


def _ended(project: int, outcomes: Collection[str], since: datetime) -> QuerySet[Session]:
    lately = Session.objects.filter(project=project, outcome__in=outcomes, last_event_at__gte=since)
    return lately.filter(is_settled_root())


def failed(project: int, now: datetime) -> QuerySet[Session]:
    """Return the sessions that failed in the last 24 hours, unordered."""
    return ended(project, FAILED, now)


def is_read_by(user: int) -> Exists:
    """Return the condition that a user has read a failed session."""
    return Exists(ReadMark.objects.filter(user=user, loop=OuterRef("head")))
