"""Reads the sums of the block ledger of a project over whole days, narrowed to agents, versions and models.

Cost: the sums of days are few, whatever the number of calls; sums of sessions are read only for those that
lost most, through an index that has the losses alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from django.db.models import BooleanField, Case, Count, F, Max, Min, Q, QuerySet, Sum, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, NullIf

from dashboard.shared.ledger_sums.figures import MISS, OUTPUT, PeriodLedger, period_ledger
from dashboard.shared.ledger_sums.floors import DEFINITION, SYSTEM, FloorStep, OfDay, steps
from dashboard.shared.ledger_sums.rows import Missed, Part, ToolCalls
from recorder.core.ledger.verdicts import NO_MISS
from recorder.ledger.sums import NO_PART, REQUEST
from recorder.models import LedgerDay, LedgerSum, ToolCall

SAMPLE = 300  # newest sessions of the period, whose recorded tool calls are counted


@dataclass(frozen=True, slots=True)
class Scope:
    """Conditions on calls: of one project, ended on these days, of any of the agents, versions and models."""

    project: int
    first: date
    last: date
    agents: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def condition(self) -> dict[str, object]:
        """Return the conditions on a table of sums."""
        columns: dict[str, object] = {"project": self.project, "day__gte": self.first, "day__lte": self.last}
        narrow = {"agent_id": self.agents, "version": self.versions, "model": self.models}
        return columns | {f"{name}__in": values for name, values in narrow.items() if values}


class SessionLoss(NamedTuple):
    """The loss of a session, with its turns, its cost and its main cause within the period."""

    session: int
    misses: int
    lost_tokens: int
    lost_nano: int
    turns: int
    cost_nano: int
    verdict: str

    @property
    def share(self) -> float | None:
        return self.lost_nano / self.cost_nano if self.cost_nano else None


def read(scope: Scope) -> PeriodLedger:
    """Return the figures of a period. Four queries."""
    days = LedgerDay.objects.filter(**scope.condition())
    parts = [
        Part(*row)
        for row in days.exclude(kind=REQUEST)
        .values_list("agent_id", "version", "kind", "name", "server")
        .annotate(
            Sum("calls"),
            Sum("tokens"),
            Sum("blocks"),
            Sum("block_tokens"),
            Sum("cost_nano"),
            Min("day"),
            Max("day"),
        )
        .order_by()
    ]
    missed = [
        Missed(*row)
        for row in days.filter(kind=MISS)
        .annotate(change=F("server"))
        .values_list(
            *("day", "name", "agent_id", "version"),
            *(Sum("blocks"), Sum("tokens"), Sum("cost_nano"), Sum("block_tokens")),
            "change",
        )
        .order_by()
    ]
    return period_ledger(scope.first, scope.last, parts, missed, tool_calls(scope) if parts else [])


def sampled_sessions(scope: Scope) -> list[int]:
    """Return the newest sessions with calls in the period."""
    sums = LedgerSum.objects.filter(**scope.condition(), kind=OUTPUT).order_by("-day", "-session")
    return list(dict.fromkeys(sums.values_list("session", flat=True)[:SAMPLE]))


def tool_calls(scope: Scope) -> list[ToolCalls]:
    """Return the ended tool calls of the newest sessions of the period, by agent and tool. Two queries."""
    ended = ToolCall.objects.filter(loop__session__in=sampled_sessions(scope), state__in=("done", "failed"))
    agent = Coalesce(NullIf("turn__agent_id", Value("")), "loop__agent_id")
    counted = (
        ended.annotate(by=agent)
        .values_list("by", "tool_name")
        .annotate(calls_=Count("pk"), failed_=Count("pk", filter=Q(state="failed")))
    )
    return [ToolCalls(*row) for row in counted.order_by()]


def losing(scope: Scope, cause: str = "") -> QuerySet[LedgerSum]:
    """Return the sums of sessions whose cache was missed with a loss, by one cause if it is given."""
    # Written out: SQLite uses a partial index only where the query has its condition without parameters.
    lost = RawSQL("kind = 'miss' AND tokens > 0", (), output_field=BooleanField())
    sums = LedgerSum.objects.filter(lost, **scope.condition())
    return sums.filter(name=cause) if cause else sums.exclude(name__in=NO_MISS)


def sessions_that_lost(scope: Scope, cause: str = "", count: int = 0) -> Sequence[SessionLoss]:
    """Return the sessions that lost most, the dearest first; all without a `count`. Two queries."""
    rows = (
        losing(scope, cause)
        .values_list("session")
        .annotate(calls_=Sum("blocks"), tokens_=Sum("tokens"), nano_=Sum("cost_nano"))
        .order_by("-nano_", "-tokens_", "-session")
    )
    losses = list(rows[:count] if count else rows)
    if not losses:
        return []
    about = _about(scope, [row[0] for row in losses])
    return [SessionLoss(*(*row, *about[row[0]])) for row in losses]


def losing_sessions(scope: Scope, cause: str = "") -> int:
    """Return how many sessions lost anything. One query."""
    count: int = losing(scope, cause).aggregate(count=Count("session", distinct=True))["count"]
    return count


def _about(scope: Scope, sessions: Sequence[int]) -> dict[int, tuple[int, int, str]]:
    """Return the turns, the cost and the main cause of sessions within the period."""
    about: dict[int, tuple[int, int, str]] = dict.fromkeys(sessions, (0, 0, ""))
    worst: dict[int, tuple[int, int]] = {}
    rows = LedgerSum.objects.filter(**scope.condition(), session__in=sessions)
    sums = rows.values_list("session", "kind").annotate(
        verdict=_verdict(), calls_=Sum("calls"), tokens_=Sum("tokens"), nano_=Sum("cost_nano")
    )
    for session, kind, verdict, calls, tokens, nano in sums.order_by("session", "kind", "verdict"):
        turns, cost, cause = about[session]
        if kind not in NO_PART:
            about[session] = turns + (calls if kind == OUTPUT else 0), cost + nano, cause
        elif kind == MISS and verdict not in NO_MISS and (nano, tokens) > worst.get(session, (-1, -1)):
            worst[session] = nano, tokens
            about[session] = turns, cost, verdict
    return about


def _verdict() -> Any:
    """Return the name of a sum if it is a verdict: other sums of a kind are added up."""
    return Case(When(kind=MISS, then=F("name")), default=Value(""))


def floors(scope: Scope) -> list[FloorStep]:
    """Return the floors of all agents, the dearest first, those of each in order of time. One query."""
    days = LedgerDay.objects.filter(**scope.condition(), kind__in=(SYSTEM, DEFINITION, OUTPUT))
    rows = days.values_list("agent_id", "version", "day", "kind").order_by()
    return steps(OfDay(*row) for row in rows.annotate(Sum("calls"), Sum("tokens"), Sum("cost_nano")))


def choices(scope: Scope) -> dict[str, list[str]]:
    """Return all agents, versions and models of the days of a scope. One query."""
    days = LedgerDay.objects.filter(
        project=scope.project, day__gte=scope.first, day__lte=scope.last, kind=OUTPUT
    )
    rows = list(days.values_list("agent_id", "version", "model").distinct()[:2_000])
    return {name: [row[at] for row in rows] for at, name in enumerate(("agent", "version", "model"))}
