"""The progress of the index of each project, and the lag that pages and metrics show."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from recorder.database import sql
from recorder.models import Producer, Project, SearchState
from recorder.search import tables

VERSION = f"2-{unicodedata.unidata_version}"  # of what is indexed, and of Unicode's tables
NOTES_FIRST = f"{VERSION} notes first"  # made anew, and the notes still come before the events
COUNTED = 100_000  # events behind are counted up to here


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of the index: the age of the oldest event that it lacks, and how many it lacks.

    `events` is counted to `COUNTED` at most.
    """

    seconds: float
    events: int


def lag(project: int, now: datetime) -> Lag:
    """Return how far a project's index is behind. Two queries."""
    cursor = SearchState.objects.filter(project=project).values_list("cursor", flat=True).first() or 0
    newer = "FROM recorder_journalevent WHERE id > %s AND project_id = %s"
    first = f"SELECT received_at {newer} ORDER BY id LIMIT 1"
    number = f"SELECT COUNT(*) FROM (SELECT 1 {newer} LIMIT {COUNTED}) n"
    oldest, events = sql.read(f"SELECT ({first}), ({number})", *(cursor, project) * 2)[0]
    since = now if oldest is None else sql.aware(oldest)
    return Lag(max(0.0, (now - since).total_seconds()), events)


def greatest_lag(now: datetime) -> Lag:
    """Return the lag of the project whose index is furthest behind. Three queries."""
    last = SearchState.objects.order_by("cursor").values_list("project_id", flat=True).first()
    return lag(last, now) if last else Lag(0.0, 0)


def ensure(project: int) -> SearchState:
    """Return the state of a project's index, which is created if it does not exist. Needs the lock."""
    found = SearchState.objects.filter(project=project).first()
    if found is not None:
        return found
    tables.create(project)
    # A cursor never passes a line that may still appear; so a project that has recorded nothing up to now
    # begins where the others are.
    has_lines = Producer.objects.filter(project=project).exists()
    cursor = 0 if has_lines else SearchState.objects.aggregate(last=Max("cursor"))["last"] or 0
    return SearchState.objects.create(project_id=project, cursor=cursor, version=VERSION)


def ensure_all() -> dict[int, SearchState]:
    """Create the index of every project that has none, drop those of deleted ones; return the states."""
    states = {state.project_id: state for state in SearchState.objects.all()}
    projects = set(Project.objects.values_list("pk", flat=True))
    if new := projects - states.keys():
        for name in set(tables.names()) - {tables.table(project) for project in projects}:
            tables.drop(int(name.rpartition("_")[2]))
        states |= {project: ensure(project) for project in sorted(new)}
    return states
