"""What asks for a person: open approvals, and what failed lately, seen by this person or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dashboard.shared.compiled_query import compiled
from recorder.journal.producers import IMPORT_PREFIX
from recorder.models import Approval, Seen, Session

FAILED = ("failed", "rejected", "aborted")
FINISHED = ("completed", "limit")
LATELY = timedelta(hours=24)
MOST = 99  # more are not counted


@dataclass(frozen=True, slots=True)
class Count:
    """How much of a project asks for one person; root of the panel shell/attention."""

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
    """The query of the panel shell/attention of one project; its keys are people."""

    project: int

    def __call__(self, users: Collection[int]) -> Mapping[int, Count]:
        """Count. A query, and one more for each person."""
        now = timezone.now()
        asked = len(_waiting(self.project))
        return {user: Count(asked, len(_unseen(self.project, now - LATELY, user))) for user in users}


@compiled
def _waiting(project: int) -> QuerySet[Approval, int]:
    return waiting(project).values_list("pk", flat=True)[: MOST + 1]


@compiled
def _unseen(project: int, since: datetime, user: int) -> QuerySet[Session, int]:
    return _ended(project, FAILED, since).filter(~seen_by(user)).values_list("pk", flat=True)[: MOST + 1]


def waiting(project: int) -> QuerySet[Approval]:
    """Return the questions that nobody has answered, in no order."""
    # The sessions that wait are few and have an index; otherwise all of the project would be gone through.
    waits = Session.objects.filter(project=project, waiting__gt=0)
    return Approval.objects.filter(session__in=waits.values("pk"), resolved_at=None)


def ended(project: int, outcomes: Collection[str], now: datetime) -> QuerySet[Session]:
    """Return the sessions that lately ended so, in no order.

    Sub-agents report to their parent, and what an import brings in of the past is nobody's news.
    """
    return _ended(project, outcomes, now - LATELY)


def _ended(project: int, outcomes: Collection[str], since: datetime) -> QuerySet[Session]:
    lately = Session.objects.filter(project=project, outcome__in=outcomes, last_event_at__gte=since)
    roots = lately.filter(waiting=0).exclude(head__role="sub_agent")
    return roots.exclude(Q(ended_at__lt=since), head__producer__name__startswith=IMPORT_PREFIX)


def failed(project: int, now: datetime) -> QuerySet[Session]:
    """Return the sessions that failed lately, in no order."""
    return ended(project, FAILED, now)


def seen_by(user: int) -> Exists:
    """Say of a failed session whether this person has seen it."""
    return Exists(Seen.objects.filter(user=user, loop=OuterRef("head")))
