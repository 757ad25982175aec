"""Reconciliation of totals: each loop with its turns, each session with its loops, rollups with sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import Coalesce

from dashboard.pages.costs.params import Period
from dashboard.web import links
from recorder.models import LoopRecord, Project, Session, Spending, Turn, happened

SHOWN = 20  # mismatches listed, of loops and of sessions each
COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A record whose tokens or cost (nano-dollars) differ from the sum of its parts."""

    name: str
    href: str
    tokens: int
    tokens_of_parts: int
    nano: int
    nano_of_parts: int


@dataclass(frozen=True, slots=True)
class Accounts:
    """Result of the reconciliation: loops and sessions of the period, sums of all time."""

    loops: int
    sessions: int
    stray_loops: tuple[Mismatch, ...]  # the first `SHOWN`
    stray_sessions: tuple[Mismatch, ...]
    sessions_nano: int
    hourly_nano: int
    daily_nano: int
    stray_judges: int  # judge loops that belong to no group or to several

    @property
    def do_reconcile(self) -> bool:
        agree = self.sessions_nano == self.hourly_nano == self.daily_nano and not self.stray_judges
        return agree and not self.stray_loops and not self.stray_sessions


def accounts(project: Project, period: Period) -> Accounts:
    """Compare the records of a period with their parts. Eight queries; one reads every turn of the period."""
    ended = LoopRecord.objects.alias(at=happened("ended")).filter(at__gte=period.start)
    loops = ended.filter(session__project=project)
    sessions = Session.objects.filter(project=project)
    spending = Spending.objects.filter(project=project).values("span").annotate(nano=Sum("cost_nano"))
    rollups = dict(spending.values_list("span", "nano"))
    judges = loops.filter(role="judge").annotate(groups=Count("judged_groups"))
    # The usage of an open turn counts at once in its session, and in the rollups at its end.
    running = Turn.objects.filter(loop__session__project=project, loop__status="running")
    open_nano = running.exclude(state="done").aggregate(nano=Sum("cost_nano", default=0))["nano"]
    return Accounts(
        loops=loops.count(),
        sessions=sessions.filter(last_event_at__gte=period.start).count(),
        stray_loops=tuple(_loop_mismatches(project, period)),
        stray_sessions=tuple(_session_mismatches(project, period)),
        sessions_nano=sessions.aggregate(nano=Sum("cost_nano", default=0))["nano"] - open_nano,
        hourly_nano=rollups.get("hour", 0),
        daily_nano=rollups.get("day", 0),
        stray_judges=judges.exclude(groups=1).count(),
    )


def _loop_mismatches(project: Project, period: Period) -> Iterator[Mismatch]:
    """Yield loops whose reported usage differs from the sum of their turns."""
    turns = Turn.objects.alias(at=happened("ended", "loop__")).filter(
        loop__session__project=project, at__gte=period.start, state="done"
    )
    calls = turns.filter(loop__is_one_call=False).annotate(session=F("loop__session"))
    for row in _mismatched_rows(calls, "loop", "loop__loop_id", "session"):
        yield _mismatch(row, row["loop__loop_id"], links.loop(project.slug, row["session"], row["loop"]))


def _session_mismatches(project: Project, period: Period) -> Iterator[Mismatch]:
    """Yield sessions whose totals differ from the sum of their loops."""
    loops = LoopRecord.objects.filter(session__project=project, session__last_event_at__gte=period.start)
    for row in _mismatched_rows(loops, "session", "session__session_id"):
        yield _mismatch(row, row["session__session_id"], links.session(project.slug, row["session"]))


def _mismatched_rows(parts: QuerySet[Any], whole: str, *columns: str) -> list[dict[str, Any]]:
    """Return the newest records that differ from the sum of their parts, with both sums."""
    recorded = {"tokens": _tokens(f"{whole}__"), "nano": Coalesce(f"{whole}__cost_nano", 0)}
    sums = {"tokens_of_parts": Sum(_tokens()), "nano_of_parts": Coalesce(Sum("cost_nano"), 0)}
    grouped: Any = parts.values(whole, *columns, **recorded).annotate(**sums)
    disagree = grouped.exclude(tokens_of_parts=F("tokens"), nano_of_parts=F("nano"))
    return list(disagree.order_by(f"-{whole}")[:SHOWN])


def _mismatch(row: dict[str, Any], name: str, href: str) -> Mismatch:
    return Mismatch(name, href, row["tokens"], row["tokens_of_parts"], row["nano"], row["nano_of_parts"])


def _tokens(prefix: str = "") -> Any:
    """Return an expression for the sum of a record's token counts."""
    return reduce(add, (F(f"{prefix}{name}") for name in COUNTS))
