"""Search in a project: sessions, evaluations and agents that contain every word, latest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Q
from django.utils import timezone

from dashboard.query_conditions.box import parsed
from dashboard.shared.queries.session_filter import WORDS_MAX
from dashboard.shared.session_state import SHOWN as STATE
from dashboard.shared.session_state import state_of_session
from dashboard.web import links
from recorder.core.search.tokens import PREFIX_CHARACTERS
from recorder.models import LoopRecord, ParallelGroupRecord, Project, Session

SESSIONS, EVALUATIONS, AGENTS = 6, 4, 4
_OPERATORS = ("AND", "OR", "NOT")
SCANNED_MAX = 20_000  # latest sessions that are searched for agents


@dataclass(frozen=True, slots=True)
class Found:
    """One search result."""

    words: str
    url: str
    state: str = ""
    note: str = ""
    at: datetime | None = None


def sessions(project: Project, q: str, reader: int) -> Sequence[Found]:
    """Return the latest sessions that match the query; none while it is in error. At most five queries."""
    columns = ("session_id", "title", "agent_id", *STATE)
    matches = parsed(_with_open_end(q)).on_sessions(project.pk, timezone.now(), reader)
    rows = Session.objects.filter(matches, project=project).order_by("-last_event_at", "-pk")
    return [
        Found(
            row.title or row.session_id,
            links.session(project.slug, row.pk),
            state_of_session(row),
            row.agent_id,
            row.last_event_at,
        )
        for row in rows.only(*columns)[:SESSIONS]
    ]


def _with_open_end(q: str) -> str:
    """Return a query whose last word is a beginning, as it may not be typed to its end."""
    last = q.rsplit(" ", 1)[-1]
    is_word = len(last) >= PREFIX_CHARACTERS and last.isalnum() and last not in _OPERATORS
    return f"{q}*" if is_word and q.count('"') % 2 == 0 else q


def evaluations(project: Project, q: str) -> Sequence[Found]:
    """Return the latest evaluations whose task or session title contains every word. Two queries."""
    holds = Q()
    for word in q.split()[:WORDS_MAX]:
        holds &= Q(session__title__icontains=word) | Q(branches__title__icontains=word)
    rows = ParallelGroupRecord.objects.filter(holds, session__project=project).order_by("-pk")
    pks = list(rows.values_list("pk", flat=True).distinct()[:EVALUATIONS])
    first = LoopRecord.objects.filter(group__in=pks).order_by("branch_index", "pk")
    named: dict[int | None, tuple[str, str]] = {}
    for group, title, session in first.values_list("group_id", "title", "session__title"):
        named.setdefault(group, (title or session, session))
    return [
        Found(named.get(pk, ("", ""))[0] or f"Evaluation {pk}", links.evaluation(project.slug, pk))
        for pk in pks
    ]


def agents(project: Project, q: str) -> Sequence[Found]:
    """Return the agents of the latest sessions whose names contain every word. One query."""
    latest = Session.objects.filter(project=project).order_by("-last_event_at").values("pk")[:SCANNED_MAX]
    rows = Session.objects.filter(pk__in=latest).exclude(agent_id="")
    for word in q.split()[:WORDS_MAX]:
        rows = rows.filter(agent_id__icontains=word)
    names = rows.order_by().values("agent_id").annotate(last=Max("last_event_at")).order_by("-last")
    return [
        Found(row["agent_id"], links.sessions(project.slug, agent=row["agent_id"]), at=row["last"])
        for row in names[:AGENTS]
    ]
