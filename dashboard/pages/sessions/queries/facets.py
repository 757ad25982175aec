"""Options of the filter bar, and the number of sessions in each view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.live.paged_list import Count, count
from dashboard.pages.sessions.params import VIEWS, Filters
from dashboard.shared.session_filter import OUTCOMES, SILENT, matching
from dashboard.templatetags.figures import GLYPHS
from recorder.models import ModelConfig, Session, Turn

NEWEST = 1_000  # the newest sessions, whose agents and sources are options
MODELS_MAX = 200
AGENTS_MAX = 200  # agents that took over inside a loop
VIEW_WORDS = {
    "": "All",
    "running": "Running",
    "waiting": "Waiting",
    "stale": "Stale",
    "evaluations": "Evaluations",
    "failed": "Failed",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One checkbox."""

    name: str  # value of the query parameter
    value: str
    label: str
    is_on: bool
    state: str = ""  # name of its glyph


@dataclass(frozen=True, slots=True)
class Facet:
    """One menu of the filter bar."""

    label: str
    options: Sequence[Option]

    @property
    def ticked(self) -> int:
        return sum(option.is_on for option in self.options)


@dataclass(frozen=True, slots=True)
class View:
    """A tab with a predefined filter. All counts are of the selected time range."""

    label: str
    href: str
    is_current: bool
    count: Count


def facets(project: int, filters: Filters) -> list[Facet]:
    """Return the menus: recorded values and the current selection."""
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk")
    seen = list(newest.values_list("agent_id", "source")[:NEWEST])
    configs = ModelConfig.objects.filter(project=project).order_by("model")
    models = configs.values_list("model", flat=True).distinct()[:MODELS_MAX]
    switched = Turn.objects.filter(loop__session__project=project, loop__has_switched=True)
    took_over = switched.exclude(agent_id="").values_list("agent_id", flat=True).distinct()[:AGENTS_MAX]
    open_states = [_state("status", word, filters) for word in reversed(SILENT)]
    return [
        Facet("Status", open_states + [_state("outcome", word, filters) for word in OUTCOMES]),
        Facet("Model", _options("model", models, filters.model)),
        Facet("Agent", _options("agent", [*(agent for agent, _ in seen), *took_over], filters.agent)),
        Facet("Source", _options("source", (source for _, source in seen), filters.source)),
    ]


def _state(name: str, word: str, filters: Filters) -> Option:
    return Option(name, word, GLYPHS[word][2], word in getattr(filters, name), state=word)


def _options(name: str, offered: Iterable[str], ticked: Sequence[str]) -> list[Option]:
    values = sorted({*offered, *ticked} - {""}, key=lambda value: (value.casefold(), value))
    return [Option(name, value, value, value in ticked) for value in values]


def views(project: int, filters: Filters, now: datetime) -> list[View]:
    """Return the tabs. A tab keeps the time range and the order and drops all other filters."""
    return [_view(project, filters, view, now) for view in ("", *VIEWS)]


def _view(project: int, filters: Filters, view: str, now: datetime) -> View:
    alone = Filters(view=view, since=filters.since, sort=filters.sort)
    is_current = filters.but() == alone
    return View(VIEW_WORDS[view], alone.query, is_current, count(matching(project, alone.wanted(now))))
