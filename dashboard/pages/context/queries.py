"""Figures of the page Context and cache, with the names and states of sessions, and how far the ledger is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from django.utils import timezone

from dashboard.pages.context.changes import ChangeRow, a_week, change_rows
from dashboard.pages.context.chart import Chart, chart, day_words
from dashboard.pages.context.params import NARROW, ContextPageParams
from dashboard.pages.context.request_rows import RequestRow, request_rows
from dashboard.pages.context.session_rows import (
    SessionRow,
    WastefulSession,
    session_rows,
    wasteful_sessions,
)
from dashboard.pages.context.words import CAUSES, LABELS, css
from dashboard.query_language import print_query
from dashboard.query_language.choices import Pair, choose, is_valid
from dashboard.shared.ledger.words import change_words
from dashboard.shared.ledger_sums.figures import PeriodLedger, Version
from dashboard.shared.ledger_sums.floors import FloorStep
from dashboard.shared.ledger_sums.queries import sums
from dashboard.shared.ledger_sums.queries.requests import LISTED, DearRequests, dear_requests
from dashboard.shared.ledger_sums.queries.sums import Scope
from dashboard.shared.ledger_sums.rows import Loss
from dashboard.shared.ledger_sums.tools import Command, commands_of
from dashboard.shared.waste.queries.sums import PeriodWaste, of_period
from dashboard.web import links
from dashboard.web.filters import Menu, options
from recorder.models import JournalEvent, LedgerState, Project, Session

SESSIONS, ROWS = 10, 20  # of the page; files have all
NAMES = 50  # of tools and agents in one cell
BEHIND = 1_000  # lines that wait before the page says so


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the ledger of the project: recorded lines of the server that it has not passed."""

    waiting: int
    total: int

    @property
    def done(self) -> int:
        return self.total - self.waiting

    @property
    def is_backfill(self) -> bool:
        """Return whether most is missing, as after an upgrade."""
        return self.waiting > self.total / 2

    @property
    def is_behind(self) -> bool:
        return self.waiting > BEHIND or (self.is_backfill and self.waiting > 0)


@dataclass(frozen=True, slots=True)
class ContextPage:
    """Everything below the filters; root of the panel context/figures."""

    slug: str
    params: ContextPageParams
    scope: Scope
    ledger: PeriodLedger
    chart: Chart
    sessions: Sequence[SessionRow]
    sessions_total: int
    main_sessions: int  # sessions with a loss by the main cause
    progress: Progress
    waste: PeriodWaste
    wasteful: Sequence[WastefulSession]
    dear: DearRequests
    floors: Sequence[FloorStep]

    @property
    def requests(self) -> list[RequestRow]:
        """Return the dearest requests, each with the link to its turn."""
        return request_rows(self.slug, self.dear)

    @property
    def commands(self) -> list[Command]:
        """Return the commands of shells, the dearest first; files have all."""
        return commands_of(self.ledger.tools)

    @property
    def main_reason(self) -> str:
        return CAUSES[self.ledger.causes[0].verdict][1]

    @property
    def context_share(self) -> float | None:
        return _share(self.ledger.context_nano, self.ledger.cost_nano)

    @property
    def lost_share(self) -> float | None:
        return self._of_context(self.ledger.lost)

    @property
    def results_share(self) -> float | None:
        return self._of_context(self.results)

    @property
    def results(self) -> Loss:
        """Return what all tool results were: their number, carried tokens and cost."""
        tools = self.ledger.tools
        return Loss(
            sum(tool.results for tool in tools),
            sum(tool.carried_tokens for tool in tools),
            sum(tool.nano for tool in tools),
        )

    @property
    def unused(self) -> Loss:
        """Return what all definitions never called were: their number, carried tokens and cost."""
        groups = self.ledger.unused
        return Loss(
            sum(len(group.tools) for group in groups),
            sum(group.carried_tokens for group in groups),
            sum(group.nano for group in groups),
        )

    @property
    def causes(self) -> list[dict[str, object]]:
        """Return the causes, each with the link that narrows the sessions below to it."""
        return [
            {
                "label": LABELS[cause.verdict],
                "css": css(cause.verdict),
                "whole": cause.whole,
                "href": self.params.but(cause=cause.verdict).query,
            }
            for cause in self.ledger.causes
        ]

    @property
    def changes(self) -> list[ChangeRow]:
        return change_rows(self.ledger, self.params)

    @property
    def main_change(self) -> str:
        cause = self.ledger.causes[0]
        return change_words(cause.verdict, cause.main_change)

    @property
    def main_week(self) -> int | None:
        return a_week(self.ledger, self.ledger.causes[0].whole)

    @property
    def main_href(self) -> str:
        """Return the link to the sessions that the main cause made lose anything."""
        return self.params.but(cause=self.ledger.causes[0].verdict).query

    @property
    def bars(self) -> list[dict[str, object]]:
        """Return the bars of the chart; days and causes are links with the same filters."""
        found = []
        for bar in self.chart.bars:
            days = self.params.but(since=bar.first.isoformat(), until=bar.last.isoformat())
            rows = [(row, days.but(cause=row.verdict).query if row.loss.calls else "") for row in bar.rows]
            found.append({"bar": bar, "href": days.query, "rows": rows})
        return found

    @property
    def all_sessions(self) -> str:
        """Return the link to the sessions of the period, with the same filters."""
        params = self.params
        return self.sessions_of(agent=params.agent, version=params.version, model=params.model)

    @property
    def tools(self) -> list[dict[str, object]]:
        """Return the dearest tools, each with the link to the sessions that called it."""
        return [{"tool": tool, "href": self._of_row(tool=tool.name)} for tool in self.ledger.tools[:ROWS]]

    @property
    def more_tools(self) -> int:
        return max(0, len(self.ledger.tools) - ROWS)

    @property
    def unused_rows(self) -> list[dict[str, object]]:
        """Return servers and tools never called, each with the link to the sessions of its agents."""
        return [
            {
                "group": group,
                "name": group.server or group.name,
                "tools": ", ".join(sorted(group.tools)[:NAMES]),
                "agents": ", ".join(sorted(group.agents)[:NAMES]),
                "href": self._of_row(agent=sorted(group.agents)[:NAMES]),
            }
            for group in self.ledger.unused[:ROWS]
        ]

    @property
    def versions(self) -> list[dict[str, object]]:
        """Return the versions that lost most, each with when it was seen and its sessions."""
        return [
            {
                "version": row,
                "seen": self._period(row),
                "href": self._of_row(version=row.version, agent=row.agent),
            }
            for row in self.ledger.versions[:ROWS]
        ]

    @property
    def more_versions(self) -> int:
        return max(0, len(self.ledger.versions) - ROWS)

    def _of_context(self, part: Loss) -> float | None:
        ledger = self.ledger
        if ledger.is_priced:
            return _share(part.nano, ledger.context_nano)
        return _share(part.tokens, ledger.context_tokens)

    def _period(self, row: Version) -> str:
        """Return on which days of the period a version was seen: "9 Nov to 15 Nov"."""
        starts, ends = row.first <= self.scope.first, row.last >= self.scope.last
        if starts and ends:
            return "whole period"
        if ends:
            return f"since {day_words(row.first)}"
        if row.first == row.last:
            return day_words(row.first)
        return f"{day_words(row.first)} to {day_words(row.last)}"

    def sessions_of(self, **values: str | Sequence[str]) -> str:
        """Return the list of sessions of the period with these values of query keys, any of several."""
        return self._sessions(_pairs(values))

    def _of_row(self, **values: str | Sequence[str]) -> str:
        """Return `sessions_of` for a row; "" if a key has no value, as others would be listed too."""
        pairs = _pairs(values)
        return self._sessions(pairs) if {key for key, _ in pairs} == set(values) else ""

    def _sessions(self, pairs: Sequence[Pair]) -> str:
        query = print_query(choose(None, pairs))
        bounds = {"since": self.scope.first.isoformat(), "until": self.scope.last.isoformat()}
        return links.sessions(self.slug, q=query, **bounds)


def page(project: Project, params: ContextPageParams, now: datetime, count: int = SESSIONS) -> ContextPage:
    """Return the figures of a project, with `count` sessions; 0 for all. Twenty-two queries at most."""
    scope = params.scope(project.pk, now)
    ledger = sums.read(scope)
    main = ledger.causes[0].verdict if ledger.causes else ""
    losses = sums.sessions_that_lost(scope, params.cause, count) if main else []
    waste = of_period(project.pk, scope.first, scope.last, scope.agents)
    wasteful = waste.sessions[: count or None]
    named = {row.session for row in losses} | {row.session for row in wasteful}
    sessions = Session.objects.filter(project=project).in_bulk(named)
    return ContextPage(
        slug=project.slug,
        params=params,
        scope=scope,
        ledger=ledger,
        chart=chart(ledger),
        sessions=session_rows(project.slug, losses, sessions),
        sessions_total=sums.losing_sessions(scope, params.cause) if losses else 0,
        main_sessions=sums.losing_sessions(scope, main) if main else 0,
        progress=progress(project.pk),
        waste=waste,
        wasteful=wasteful_sessions(project.slug, wasteful, sessions),
        dear=dear_requests(scope, ROWS if count else LISTED),
        floors=sums.floors(scope),
    )


def pages(params: ContextPageParams, projects: Collection[int]) -> Mapping[int, ContextPage]:
    """Return the figures of projects up to now."""
    now = timezone.now()
    return {project.pk: page(project, params, now) for project in Project.objects.filter(pk__in=projects)}


def progress(project: int) -> Progress:
    """Return how far the ledger of a project is. Two queries."""
    total = JournalEvent.objects.aggregate(last=Max("pk"))["last"] or 0
    cursor = LedgerState.objects.filter(project=project).values_list("cursor", flat=True).first() or 0
    return Progress(max(0, total - cursor), total)


def menus(project: int, params: ContextPageParams, now: datetime) -> list[Menu]:
    """Return the menus: recorded values of the period, and the current selection. One query."""
    offered = sums.choices(params.scope(project, now))
    return [Menu(name.capitalize(), options(name, offered[name], getattr(params, name))) for name in NARROW]


def _pairs(values: Mapping[str, str | Sequence[str]]) -> list[Pair]:
    """Return keys and values that a query can have."""
    wanted = {key: [value] if isinstance(value, str) else value for key, value in values.items()}
    return [(key, value) for key, of in wanted.items() for value in of if value and is_valid(key, value)]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
