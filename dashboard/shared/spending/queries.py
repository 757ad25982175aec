"""Usage and cost of a scope, summed over recorded turns and loops.

The sums equal those of the rollups (`recorder.pricing.rollups`): a call counts when it ended, a turn for the
config and agent that answered it, a loop for those that it began with; the tokens of calls that do not
reconcile are left out. Cost: the turns and loops of the matching sessions that were active since the period
began, read through the indexes of their sessions and loops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from django.db.models import Count, F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce, NullIf

from dashboard.shared.spending.scope import Scope
from recorder.models import LoopRecord, ParallelGroupRecord, Session, Turn, happened

if TYPE_CHECKING:
    from dashboard.shared.queries.durations import Period
    from dashboard.shared.time_functions import Day

Sums: TypeAlias = Mapping[str, Any]  # the keys of a group, and its figures by the names of FIGURES

TOKENS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens")
FLAWS = ("unpriced", "unreconciled")
OF_TURN: Mapping[str, Any] = {
    "config": F("config_id"),
    "model": F("config__model"),
    "agent": Coalesce(NullIf("agent_id", Value("")), "loop__agent_id"),
    "segment": F("loop__segment"),
    "session": F("loop__session_id"),
}
OF_LOOP: Mapping[str, Any] = {
    "config": F("config_id"),
    "model": F("config__model"),
    "agent": F("agent_id"),
    "segment": F("segment"),
    "session": F("session_id"),
}


def active(project: int, scope: Scope, period: Period) -> QuerySet[Session]:
    """Return the sessions of a scope in which something may have ended in a period."""
    # No turn or loop ended after the last event of its session.
    sessions = Session.objects.filter(scope.sessions, project=project)
    return sessions.filter(last_event_at__gte=period.start) if period.start else sessions


def sums(
    project: int,
    scope: Scope,
    period: Period,
    keys: Collection[str] = (),
    stamp: type[Day] | None = None,
    sessions: Collection[int] | None = None,
) -> list[Sums]:
    """Return the figures by keys of OF_TURN, and by `stamp`, the day or hour of the end.

    A group has one row for turns and one for loops. `sessions` are the only ones that count. Two queries.
    """
    within = active(project, scope, period) if sessions is None else sessions
    at = {**period.within("at"), "at__isnull": False}
    turns = Turn.objects.alias(at=happened("ended")).filter(
        scope.turns, loop__session__in=within, state="done", **at
    )
    loops = LoopRecord.objects.alias(at=happened("ended")).filter(scope.loops, session__in=within, **at)
    ended = loops.exclude(status__in=("pending", "running"))
    stamps = {"at": stamp("at")} if stamp else {}
    of_turn = {key: OF_TURN[key] for key in keys} | stamps
    of_loop = {key: OF_LOOP[key] for key in keys} | stamps
    return [*_of_turns(turns, of_turn), *_of_loops(ended, of_loop)]


def of_selection(project: int, scope: Scope, period: Period) -> Mapping[str, int]:
    """Return the tokens, and the `unpriced` and `unreconciled` calls, of selection without a judge loop.

    Groups report this usage. It has no model and so no price. One query.
    """
    groups = ParallelGroupRecord.objects.alias(at=happened("ended")).filter(
        scope.groups,
        session__in=active(project, scope, period),
        judge=None,
        unpriced__gt=0,
        **period.within("at"),
    )
    found = groups.aggregate(
        unpriced_=Sum("unpriced", default=0),
        unreconciled_=Sum("unreconciled", default=0),
        **{f"{name}_": Sum(name, filter=Q(unreconciled=0), default=0) for name in TOKENS},
    )
    return {name.removesuffix("_"): count for name, count in found.items()}


def _of_turns(turns: QuerySet[Turn], keys: Mapping[str, Any]) -> list[Sums]:
    own = {"loops": Value(0), "failed": Value(0), "errors": Sum("errors"), "turns": Count("pk")}
    return _sums_by(turns, keys, Q(), own)


def _of_loops(loops: QuerySet[LoopRecord], keys: Mapping[str, Any]) -> list[Sums]:
    """Return the loops with their errors outside a turn; of those billed as one call also its usage."""
    own = {
        "loops": Count("pk"),
        "failed": Count("pk", filter=Q(outcome="failed")),
        "errors": Sum(F("errors") - F("turn_errors")),
        "turns": Value(0),
    }
    return _sums_by(loops, keys, Q(is_one_call=True), own)


def _sums_by(rows: QuerySet[Any], keys: Mapping[str, Any], call: Q, own: Mapping[str, Any]) -> list[Sums]:
    figures = {
        **own,
        **{name: Sum(name, filter=call & Q(unreconciled=0), default=0) for name in TOKENS},
        **{name: Sum(name, filter=call, default=0) for name in FLAWS},
        "cost_nano": Sum("cost_nano", filter=call, default=0),
        "priced": Count("pk", filter=call & Q(cost_nano__isnull=False)),
        "reported": Count("pk", filter=call & Q(cost_source="reported")),
    }
    # The names of keys and figures are also those of columns.
    grouped = rows.order_by().values(**{f"{name}_": key for name, key in keys.items()} or {"all_": Value(1)})
    found = grouped.annotate(**{f"{name}_": figure for name, figure in figures.items()})
    return [{name.removesuffix("_"): value for name, value in row.items()} for row in found]
