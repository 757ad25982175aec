"""The tool calls of a project that match a query, and what each tool took and how often it failed.

Bound: calls of the newest `SESSIONS` sessions of the period, which the page says; no order has an index, and
all read these calls alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from dashboard.live.paged_list import Listing, listing
from dashboard.pages.calls.params import CALL_SORTS, Calls
from dashboard.query_conditions.conditions import tool_call_condition
from dashboard.query_language import print_query
from dashboard.query_language.choices import is_valid, replace_value
from dashboard.web import links
from dashboard.web.time_range import time_range
from recorder.models import Project, Session, ToolCall

SESSIONS = 2_000
# When a call began, which may not be the order of recording; one without a time began with its loop.
BEGAN = Coalesce("started_at", "ended_at", "loop__started_at", "loop__session__created_at")
TOOLS_MAX = 20
READ = (
    *("tool_name", "state", "summary", "started_at", "ended_at", "duration_ms", "turn__ordinal"),
    *("loop__session__title", "loop__session__session_id", "loop__agent_id"),
)


@dataclass(frozen=True, slots=True)
class CallRow:
    """One tool call."""

    url: str
    tool: str
    state: str
    summary: str
    session: str
    agent: str
    started_at: datetime | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class ToolRow:
    """The calls of one tool."""

    name: str
    calls: int
    failed: int
    total_ms: int | None
    longest_ms: int | None
    url: str

    @property
    def failure_rate(self) -> float:
        return self.failed / self.calls


@dataclass(frozen=True, slots=True)
class CallList:
    """A page of tool calls, and the `TOOLS_MAX` tools with most calls."""

    rows: Sequence[CallRow]
    listing: Listing
    tools: Sequence[ToolRow]
    slowest: str  # the link to the call that took longest, "" without calls


def call_list(project: Project, address: Calls, now: datetime) -> CallList:
    """Return a page of tool calls and the totals of their tools. Eight queries at most."""
    calls = matching(project, address, now)
    found = listing(calls, address, address.order)
    timed = calls.filter(duration_ms__isnull=False)
    slowest = CALL_SORTS["-duration"].sort(timed).values_list("pk", flat=True).first()
    read = ToolCall.objects.select_related("loop__session", "turn").only(*READ)
    by_key = read.in_bulk([*found.pks, *([slowest] if slowest else [])])
    rows = [_row(project.slug, by_key[pk]) for pk in found.pks if pk in by_key]
    longest = by_key.get(slowest) if slowest else None
    return CallList(rows, found, _tools(calls, address), _row(project.slug, longest).url if longest else "")


def matching(project: Project, address: Calls, now: datetime) -> QuerySet[ToolCall]:
    """Return the tool calls that an address selects, unsorted. One query."""
    within = time_range(address, now).within("last_event_at")
    recent = Session.objects.filter(project=project, **within).order_by("-last_event_at", "-pk")
    matches = address.query_text.on(tool_call_condition, project.pk, now, address.reader)
    newest = list(recent.values_list("pk", flat=True)[:SESSIONS])
    return ToolCall.objects.filter(matches, loop__session__in=newest).annotate(began_at=BEGAN)


def _tools(calls: QuerySet[ToolCall], address: Calls) -> list[ToolRow]:
    failed = Count("pk", filter=Q(state="failed"))
    sums = (
        calls.order_by()
        .values("tool_name")
        .annotate(calls=Count("pk"), failed=failed, total=Sum("duration_ms"), longest=Max("duration_ms"))
    )
    rows = sums.order_by("-calls", "tool_name")[:TOOLS_MAX]
    return [
        ToolRow(
            name=row["tool_name"],
            calls=row["calls"],
            failed=row["failed"],
            total_ms=row["total"],
            longest_ms=row["longest"],
            url=address.but(q=_with_tool(address, row["tool_name"])).query,
        )
        for row in rows
    ]


def _with_tool(address: Calls, name: str) -> str:
    """Return the query with this tool in place of another; the query itself if none can name the tool."""
    if not is_valid("tool", name):
        return address.q
    return print_query(replace_value(address.query_text.node, "tool", name))


def call_url(slug: str, call: ToolCall) -> str:
    """Return the place of a call in its turn; the page of its loop if it has no turn."""
    session, loop = call.loop.session_id, call.loop_id
    if call.turn is None:
        return links.loop(slug, session, loop)
    return links.loop(slug, session, loop, turn=call.turn.ordinal + 1) + f"#session-tool-{call.pk}"


def _row(slug: str, call: ToolCall) -> CallRow:
    loop, session = call.loop, call.loop.session
    return CallRow(
        url=call_url(slug, call),
        tool=call.tool_name,
        state=call.state,
        summary=call.summary,
        session=session.title or session.session_id,
        agent=loop.agent_id,
        started_at=call.started_at,
        duration_ms=call.duration_ms,
    )
