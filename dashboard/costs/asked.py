"""What the reader asked the costs page for: validated once, written back into links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.http import QueryDict

HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
SINCE = {"24h": (24, HOUR), "7d": (7, DAY), "14d": (14, DAY), "30d": (30, DAY), "13w": (13, WEEK)}
BY = ("config", "model", "agent", "session")
NAME_MAX = 512
SHOWN_MAX = 60


@dataclass(frozen=True, slots=True)
class Period:
    """Whole hours, days or weeks of UTC, `count` bars of the length of `step`; the last one goes on."""

    start: datetime
    step: timedelta
    count: int

    @property
    def end(self) -> datetime:
        return self.start + self.step * self.count

    @property
    def before(self) -> Period:
        """Return the period of the same length right before."""
        return replace(self, start=self.start - self.step * self.count)

    @property
    def starts(self) -> list[datetime]:
        return [self.start + self.step * n for n in range(self.count)]

    @property
    def is_hourly(self) -> bool:
        return self.step == HOUR

    @property
    def unit(self) -> str:
        return {HOUR: "hour", DAY: "day"}.get(self.step, "week")

    def places(self) -> dict[str, int]:
        """Return the number of the bar of each hour or day, as text: "2026-11-20 09" or "2026-11-20"."""
        step, form = (HOUR, "%Y-%m-%d %H") if self.is_hourly else (DAY, "%Y-%m-%d")
        moments = (self.start + step * n for n in range((self.end - self.start) // step))
        return {f"{moment:{form}}": (moment - self.start) // self.step for moment in moments}


@dataclass(frozen=True, slots=True)
class Asked:
    """The page's query string. `notes` say what of it made no sense and was left out."""

    since: str = "14d"
    by: str = "config"
    agent: str = ""
    model: str = ""
    sub: bool = True  # sub-agents count
    judge: bool = True  # judges count
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Asked:
        """Read a query string; what makes no sense becomes a note."""
        notes: list[str] = []
        return cls(
            since=_choice(params, "since", tuple(SINCE), "14d", notes),
            by=_choice(params, "by", BY, "config", notes),
            agent=_name(params, "agent", notes),
            model=_name(params, "model", notes),
            sub=_choice(params, "sub", ("1", "0"), "1", notes) == "1",
            judge=_choice(params, "judge", ("1", "0"), "1", notes) == "1",
            notes=tuple(notes),
        )

    def period(self, now: datetime) -> Period:
        """Return the asked period; its last bar ends with the hour or day of `now`."""
        count, step = SINCE[self.since]
        last = now.replace(minute=0, second=0, microsecond=0)
        if step == HOUR:
            return Period(last - step * (count - 1), step, count)
        return Period(last.replace(hour=0) + DAY - step * count, step, count)

    @property
    def windows(self) -> list[tuple[str, str, bool]]:
        """Return the time ranges: name, link, whether chosen."""
        return [(name, self.but(since=name).query, name == self.since) for name in SINCE]

    @property
    def groupings(self) -> list[tuple[str, str, bool]]:
        """Return what can be told apart: name, link, whether chosen."""
        return [(name, self.but(by=name).query, name == self.by) for name in BY]

    @property
    def switches(self) -> list[tuple[str, str, bool]]:
        """Return what can be left out: words, link, whether it counts."""
        return [
            ("Include sub-agents", self.but(sub=not self.sub).query, self.sub),
            ("Include judges", self.but(judge=not self.judge).query, self.judge),
        ]

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Return what the filter form keeps and has no field for."""
        return list(self.but(agent="", model="").pairs())

    @property
    def is_narrow(self) -> bool:
        """Whether something is left out of the period."""
        return bool(self.agent or self.model or not self.sub or not self.judge)

    @property
    def cleared(self) -> str:
        """Return the link to the same period without conditions."""
        return Asked(since=self.since, by=self.by).query

    def but(self, **changes: Any) -> Asked:
        return replace(self, **changes)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the query string's names and values, without what is usual."""
        usual = Asked()
        for name in ("since", "by", "agent", "model", "sub", "judge"):
            value = getattr(self, name)
            if value != getattr(usual, name):
                yield name, value if isinstance(value, str) else str(int(value))

    @property
    def query(self) -> str:
        """Return the link to exactly this page, relative to it: "?…", never empty."""
        return "?" + urlencode(list(self.pairs()))


def _choice(params: QueryDict, name: str, known: tuple[str, ...], usual: str, notes: list[str]) -> str:
    given = params.get(name, "")
    if given and given not in known:
        notes.append(_ignored(name, given))
    return given if given in known else usual


def _name(params: QueryDict, name: str, notes: list[str]) -> str:
    given = params.get(name, "")
    if "\0" in given or len(given) > NAME_MAX:
        notes.append(_ignored(name, given))
        return ""
    return given


def _ignored(name: str, value: str) -> str:
    shown = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    shown = shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}…"
    return f"Ignored {name} “{shown}”: there is no such value."
