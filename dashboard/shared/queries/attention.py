"""Items that need a user's attention: open approvals, failures and waste of 24 hours, unread mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.utils import timezone

from dashboard.rendering.number_format import plural
from dashboard.shared.compiled_query import compiled
from dashboard.shared.queries.session_filter import FAILED, is_settled_root
from dashboard.shared.session_state import Cutoffs, live, live_since
from recorder.models import Approval, Mention, ReadMark, Session, Waste, WasteReadMark

FINISHED = ("completed", "limit")
LATELY = timedelta(hours=24)
FAILURE, MENTION, WASTE = "failure", "mention", "waste"
MOST = 99  # counting stops above


@dataclass(frozen=True, slots=True)
class Count:
    """Open approvals, and what one user has not read; root of the panel shell/attention."""

    waiting: int
    unseen: int
    mentions: int
    wastes: int

    @property
    def all(self) -> int:
        return self.waiting + self.unseen + self.mentions + self.wastes

    @property
    def title(self) -> str:
        """Return what is counted, in words."""
        words = [plural(self.waiting, "open question"), plural(self.unseen, "unread failure")]
        words += [plural(self.wastes, "unread alarm") + " about waste"] * bool(self.wastes)
        return ", ".join(words + [plural(self.mentions, "unread mention")] * bool(self.mentions))

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
        return {user: self._count(waiting_count, now, user) for user in users}

    def _count(self, waiting_count: int, now: datetime, user: int) -> Count:
        unread = Counter(_unread(self.project, now - LATELY, user))
        return Count(waiting_count, unread[FAILURE], unread[MENTION], unread[WASTE])


@compiled
def _waiting(
    project: int, running: datetime, waiting: datetime, earliest: datetime
) -> QuerySet[Approval, int]:
    rows = _open(project, live_since(running, waiting, earliest))
    return rows.values_list("pk", flat=True)[: MOST + 1]


@compiled
def _unread(project: int, since: datetime, user: int) -> QuerySet[Any, str]:
    """Return the kind of each unread failure, mention and alarm about waste, in one query."""
    failures = _ended_since(project, FAILED, since).filter(~is_read_by(user))
    mentions = Mention.objects.filter(user=user, seen_at=None, note__project=project)
    wastes = _alarms(project, since).filter(~is_waste_read_by(user))
    kinds: Sequence[tuple[QuerySet[Any], str]] = ((mentions, MENTION), (wastes, WASTE))
    others = [rows.values_list(Value(kind), flat=True) for rows, kind in kinds]
    return failures.values_list(Value(FAILURE), flat=True).union(*others, all=True)[: MOST + 1]


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
    return _ended_since(project, outcomes, now - LATELY)


def _ended_since(project: int, outcomes: Collection[str], since: datetime) -> QuerySet[Session]:
    lately = Session.objects.filter(project=project, outcome__in=outcomes, last_event_at__gte=since)
    return lately.filter(is_settled_root())


def failed(project: int, now: datetime) -> QuerySet[Session]:
    """Return the sessions that failed in the last 24 hours, unordered."""
    return ended(project, FAILED, now)


def failed_within(project: int, start: datetime, end: datetime | None) -> QuerySet[Session]:
    """Return the sessions that failed from `start` to before `end`, unordered."""
    sessions = _ended_since(project, FAILED, start)
    return sessions if end is None else sessions.filter(last_event_at__lt=end)


def is_read_by(user: int) -> Exists:
    """Return the condition that a user has read a failed session."""
    return Exists(ReadMark.objects.filter(user=user, loop=OuterRef("head")))


def alarms(project: int, now: datetime) -> QuerySet[Waste]:
    """Return the waste that became an alarm in the last 24 hours, unordered."""
    return _alarms(project, now - LATELY)


def _alarms(project: int, since: datetime) -> QuerySet[Waste]:
    # By both times: imported history was received now and is none of today's concerns.
    wastes = Waste.objects.filter(project=project, alarm_line__isnull=False, alarmed_at__gte=since)
    return wastes.filter(last_at__gte=since)


def is_waste_read_by(user: int) -> Exists:
    """Return the condition that a user has read an alarm about waste."""
    marks = WasteReadMark.objects.filter(user=user, loop=OuterRef("loop"), line=OuterRef("alarm_line"))
    return Exists(marks)
