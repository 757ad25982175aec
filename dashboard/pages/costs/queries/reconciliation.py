"""Whether accounts agree: each loop with its turns, each session with its loops, kept sums with both."""

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
from recorder.models import LoopRecord, Project, Session, Spending, Turn

SHOWN = 20  # of loops, and of sessions
COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class Stray:
    """A record that does not agree with the sum of its parts, in tokens or in nano-dollars."""

    name: str
    href: str
    tokens: int
    tokens_of_parts: int
    nano: int
    nano_of_parts: int


@dataclass(frozen=True, slots=True)
class Accounts:
    """What was compared, and what does not agree: loops and sessions of the period, sums of all time."""

    loops: int
    sessions: int
    stray_loops: tuple[Stray, ...]  # the first
    stray_sessions: tuple[Stray, ...]
    sessions_nano: int
    hourly_nano: int
    daily_nano: int
    stray_judges: int  # that are not of exactly one group

    @property
    def do_reconcile(self) -> bool:
        agree = self.sessions_nano == self.hourly_nano == self.daily_nano and not self.stray_judges
        return agree and not self.stray_loops and not self.stray_sessions


def accounts(project: Project, period: Period) -> Accounts:
    """Compare the records of a period with their parts. Seven queries, of which one reads every turn."""
    loops = LoopRecord.objects.filter(session__project=project, ended_at__gte=period.start)
    sessions = Session.objects.filter(project=project)
    spending = Spending.objects.filter(project=project).values("span").annotate(nano=Sum("cost_nano"))
    kept = dict(spending.values_list("span", "nano"))
    judges = loops.filter(role="judge").annotate(groups=Count("judged_groups"))
    return Accounts(
        loops=loops.count(),
        sessions=sessions.filter(last_event_at__gte=period.start).count(),
        stray_loops=tuple(_stray_loops(project, period)),
        stray_sessions=tuple(_stray_sessions(project, period)),
        sessions_nano=sessions.aggregate(nano=Sum("cost_nano", default=0))["nano"],
        hourly_nano=kept.get("hour", 0),
        daily_nano=kept.get("day", 0),
        stray_judges=judges.exclude(groups=1).count(),
    )


def _stray_loops(project: Project, period: Period) -> Iterator[Stray]:
    """Yield loops whose end says something else than their turns."""
    turns = Turn.objects.filter(
        loop__session__project=project, loop__ended_at__gte=period.start, state="done"
    )
    calls = turns.filter(loop__is_one_call=False).annotate(session=F("loop__session"))
    for row in _disagreeing(calls, "loop", "loop__loop_id", "session"):
        yield _stray(row, row["loop__loop_id"], links.loop(project.slug, row["session"], row["loop"]))


def _stray_sessions(project: Project, period: Period) -> Iterator[Stray]:
    """Yield sessions that say something else than their loops."""
    loops = LoopRecord.objects.filter(session__project=project, session__last_event_at__gte=period.start)
    for row in _disagreeing(loops, "session", "session__session_id"):
        yield _stray(row, row["session__session_id"], links.session(project.slug, row["session"]))


def _disagreeing(parts: QuerySet[Any], whole: str, *about: str) -> list[dict[str, Any]]:
    """Return the first wholes that are not the sum of their parts, with both."""
    said = {"tokens": _tokens(f"{whole}__"), "nano": Coalesce(f"{whole}__cost_nano", 0)}
    sums = {"tokens_of_parts": Sum(_tokens()), "nano_of_parts": Coalesce(Sum("cost_nano"), 0)}
    grouped: Any = parts.values(whole, *about, **said).annotate(**sums)
    disagree = grouped.exclude(tokens_of_parts=F("tokens"), nano_of_parts=F("nano"))
    return list(disagree.order_by(f"-{whole}")[:SHOWN])


def _stray(row: dict[str, Any], name: str, href: str) -> Stray:
    return Stray(name, href, row["tokens"], row["tokens_of_parts"], row["nano"], row["nano_of_parts"])


def _tokens(at: str = "") -> Any:
    """Return the expression that adds up a record's counts: any difference between two shows in it."""
    return reduce(add, (F(f"{at}{name}") for name in COUNTS))
