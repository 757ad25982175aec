"""Numbers of sessions: of the query, and of each value of a facet; and of hits of each kind of text.

The sessions of a facet are those of the query without its own key: a facet says what choosing more of its
values would add. Cost: the newest `MOST` sessions that match, and their loops and tool calls, once for the
query and once for each of four keys that it has; for the kinds the newest 1,000 hits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count as SqlCount
from django.db.models import QuerySet

from dashboard.live.paged_list import Count
from dashboard.pages.search_text.params import SearchParams
from dashboard.pages.search_text.queries.hits_by_kind import by_kind
from dashboard.query_conditions.box import Parsed
from dashboard.query_language import print_query
from dashboard.query_language.choices import choose, chosen
from dashboard.query_language.nodes import Node
from dashboard.shared.compiled_query import compiled
from dashboard.shared.session_state import SHOWN as STATE
from dashboard.shared.session_state import status_of_session
from recorder.models import LoopRecord, Session, ToolCall

MOST = 1_000  # sessions that are counted


@dataclass(frozen=True, slots=True)
class Number:
    """Sessions with one value of a facet, or hits; `is_part` if more match than were counted."""

    value: int
    is_part: bool

    @property
    def text(self) -> str:
        return f"{self.value:,}+" if self.is_part else f"{self.value:,}"


@dataclass(frozen=True, slots=True)
class Counts:
    """The sessions that match, by key those of each value, and the hits of each kind if there are words."""

    sessions: Count
    values: Mapping[str, Mapping[str, Number]]
    kinds: Mapping[str, Number] = field(default_factory=dict)


def counts(project: int, params: SearchParams, now: datetime, user: int) -> Counts:
    """Return the numbers of a valid query. At most six queries that search, and five that count."""
    node = params.parsed.node
    found: dict[str, Sequence[Session]] = {}

    def matching(of: Node | None) -> Sequence[Session]:
        text = print_query(of)
        if text not in found:
            condition = Parsed(of).on_indexed(project, now, user)
            rows = Session.objects.filter(condition, project=project).order_by("-last_event_at", "-pk")
            found[text] = list(rows.only("agent_id", *STATE)[: MOST + 1])
        return found[text]

    values = {}
    for key, count in COUNTED.items():
        rows = matching(_without(node, key))
        is_part = len(rows) > MOST
        values[key] = {value: Number(n, is_part) for value, n in count(rows[:MOST]).items() if n}
    hits, is_part = by_kind(project, params, now, user)
    kinds = {kind: Number(n, is_part) for kind, n in hits.items()}
    return Counts(Count(len(matching(node)), MOST), values, kinds)


def _without(node: Node | None, key: str) -> Node | None:
    return choose(node, (), shown=[(key, value) for value in chosen(node).get(key, ())])


def _states(rows: Sequence[Session]) -> Mapping[str, int]:
    states = Counter(status_of_session(row) for row in rows)
    states["waiting"] = sum(row.waiting > 0 and status_of_session(row) != "stale" for row in rows)
    return states


def _agents(rows: Sequence[Session]) -> Mapping[str, int]:
    return Counter(row.agent_id for row in rows)


def _models(rows: Sequence[Session]) -> Mapping[str, int]:
    return dict(_of_models([row.pk for row in rows]))


def _tools(rows: Sequence[Session]) -> Mapping[str, int]:
    return dict(_of_tools([row.pk for row in rows]))


@compiled
def _of_models(sessions: Collection[int]) -> QuerySet[LoopRecord, tuple[str, int]]:
    loops = LoopRecord.objects.filter(session__in_list=sessions, config__isnull=False).order_by()
    used = loops.values("config__model").annotate(n=SqlCount("session", distinct=True))
    return used.values_list("config__model", "n")


@compiled
def _of_tools(sessions: Collection[int]) -> QuerySet[ToolCall, tuple[str, int]]:
    calls = ToolCall.objects.filter(loop__session__in_list=sessions).order_by()
    used = calls.values("tool_name").annotate(n=SqlCount("loop__session", distinct=True))
    return used.values_list("tool_name", "n")


COUNTED: Mapping[str, Callable[[Sequence[Session]], Mapping[str, int]]] = {
    "status": _states,
    "model": _models,
    "agent": _agents,
    "tool": _tools,
}
