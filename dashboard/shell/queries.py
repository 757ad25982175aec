"""Database queries of the shell, in a fixed number whatever the number of projects."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    Q,
    QuerySet,
    Value,
    When,
    Window,
)
from django.db.models.functions import RowNumber
from django.utils import timezone

from dashboard.shared.compiled_query import compiled
from dashboard.shared.session_state import Cutoffs, live_since
from recorder.models import Project, Session

SHOWN = 6
COLUMNS = ("project_id", "session_id", "title", "agent_id", "activity", "waiting", "waiting_since")


@dataclass(frozen=True, slots=True)
class LiveSession:
    """One session that runs or waits."""

    pk: int
    title: str
    agent_id: str
    activity: str
    waiting_since: datetime | None
    state: str  # waiting | running


@dataclass(frozen=True, slots=True)
class LiveNow:
    """Running and waiting sessions of a project: waiting ones first, then the latest."""

    slug: str
    lines: tuple[LiveSession, ...]
    more: int


def live_now(projects: Collection[int]) -> Mapping[int, LiveNow]:
    """Return the live sessions of each project: those that run or wait and are not stale."""
    lines: dict[int, list[LiveSession]] = defaultdict(list)
    more: dict[int, int] = {}
    for session in _first_live(projects, *Cutoffs.at(timezone.now()).bounds):
        lines[session.project_id].append(_line(session))
        more[session.project_id] = session.live - len(lines[session.project_id])
    return {pk: LiveNow(slug, tuple(lines[pk]), more=more.get(pk, 0)) for pk, slug in _slugs(projects)}


def has_sessions(project: int) -> bool:
    """Whether anything was recorded in a project. One query."""
    return Session.objects.filter(project=project).exists()


@compiled
def _slugs(projects: Collection[int]) -> QuerySet[Project, tuple[int, str]]:
    return Project.objects.filter(pk__in_list=projects).values_list("pk", "slug")


@compiled
def _first_live(
    projects: Collection[int], running: datetime, waiting: datetime, earliest: datetime
) -> QuerySet[Any]:
    """Return the query of the shown rows, with the number of all in each project."""
    shown = Q(status="running") | Q(waiting__gt=0)
    either = Session.objects.filter(shown, live_since(running, waiting, earliest), project__in_list=projects)
    waits = Case(When(waiting__gt=0, then=Value(0)), default=Value(1), output_field=IntegerField())
    order = (waits.asc(), F("last_event_at").desc(), F("pk").desc())
    place = Window(RowNumber(), partition_by="project_id", order_by=order)
    live = Window(Count("pk"), partition_by="project_id")
    placed = either.annotate(place=place, live=live)
    return placed.filter(place__lte=SHOWN).order_by("project_id", "place").only(*COLUMNS)


def _line(session: Session) -> LiveSession:
    return LiveSession(
        pk=session.pk,
        title=session.title or session.session_id,
        agent_id=session.agent_id,
        activity=session.activity,
        waiting_since=session.waiting_since if session.waiting else None,
        state="waiting" if session.waiting else "running",
    )
