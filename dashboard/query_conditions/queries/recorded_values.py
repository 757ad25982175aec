"""Recorded values of keys, with their number among the newest records: what the query box offers.

Each read is bounded by rows that an index finds, so that its time does not grow with the project.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from dashboard.query_language.keys import METADATA, SCORE
from dashboard.shared.queries.config_labels import chips
from recorder.core.content.labels import metadata_of
from recorder.models import LoopRecord, ScoreDefinition, Session, SessionLabel, ToolCall

if TYPE_CHECKING:
    from django.db.models import QuerySet

SESSIONS, LOOPS, CALLS, LABELS = 500, 1_000, 3_000, 2_000


def names(project: int) -> list[str]:
    """Return the keys of metadata and of scores that the project has. Two queries."""
    counter: Counter[str] = Counter()
    for metadata in _newest(project).values_list("metadata", flat=True)[:SESSIONS]:
        counter.update(metadata_of(metadata))
    scores = ScoreDefinition.objects.filter(project=project).values_list("name", flat=True)
    return [
        *(f"{METADATA}{name}" for name, _ in counter.most_common()),
        *(f"{SCORE}{name}" for name in scores),
    ]


def counts(project: int, key: str, typed: str) -> Mapping[str, int]:
    """Return recorded values of a key with their number; none if its values are no recorded texts."""
    if key.startswith(METADATA):
        return _labels(project, key, typed)
    if read := READS.get(key):
        return _counts(read(project))
    return _labels(project, LABELLED[key], typed) if key in LABELLED else {}


def _counts(values: Iterable[str | None]) -> Counter[str]:
    return Counter(value for value in values if value)


def _newest(project: int) -> QuerySet[Session]:
    return Session.objects.filter(project=project).order_by("-last_event_at", "-pk")


def _of_sessions(column: str) -> Callable[[int], Iterable[str]]:
    return lambda project: _newest(project).values_list(column, flat=True)[:SESSIONS]


def _loops(project: int) -> QuerySet[LoopRecord]:
    """Return the loops of the newest sessions."""
    return LoopRecord.objects.filter(
        session__in=list(_newest(project).values_list("pk", flat=True)[:SESSIONS])
    )


def _of_loops(column: str) -> Callable[[int], Iterable[str]]:
    return lambda project: _loops(project).values_list(column, flat=True)[:LOOPS]


def _tools(project: int) -> Iterable[str]:
    loops = list(_loops(project).values_list("pk", flat=True)[:LOOPS])
    return ToolCall.objects.filter(loop__in=loops).values_list("tool_name", flat=True)[:CALLS]


def _configs(project: int) -> Iterable[str]:
    used: list[int] = [pk for pk in _loops(project).values_list("config_id", flat=True)[:LOOPS] if pk]
    shown = chips(set(used))
    return (shown[pk].label for pk in used if pk in shown)


def _labels(project: int, name: str, typed: str) -> Mapping[str, int]:
    labels = SessionLabel.objects.filter(project=project, name=name, value__istartswith=typed)
    return _counts(labels.order_by("value").values_list("value", flat=True)[:LABELS])


LABELLED = {
    "tag": "tag",
    "version": "metadata.version",
    "user": "metadata.user",
    "runtime": "metadata.runtime",
}
READS: Mapping[str, Callable[[int], Iterable[str]]] = {
    "agent": _of_sessions("agent_id"),
    "source": _of_sessions("source"),
    "session": _of_sessions("session_id"),
    "id": _of_sessions("session_id"),
    "parent": _of_sessions("parent_session_id"),
    "outcome": _of_sessions("outcome"),
    "status": _of_sessions("outcome"),
    "title": _of_sessions("title"),
    "model": _of_loops("config__model"),
    "provider": _of_loops("config__provider"),
    "role": _of_loops("role"),
    "machine": _of_loops("producer__machine"),
    "config": _configs,
    "winner": _configs,
    "tool": _tools,
}
