"""The figures of the page: what was spent, told apart as the reader asked, with names and times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse
from django.utils import timezone

from dashboard.pages.costs.chart import Name
from dashboard.pages.costs.figures import OTHERS, Figures, Grouping, Key, Piece, by_key, figures, ranked
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.queries import selection_usage, sessions, spending
from dashboard.pages.costs.queries.durations import (
    SAMPLE_OF_CONFIG,
    SAMPLE_OF_PROJECT,
    lengths_of_configs,
    lengths_of_newest,
    times,
)
from dashboard.pages.costs.queries.unpriced import Unpriced, unpriced
from dashboard.shared.config_labels import chips
from dashboard.web import links
from recorder.models import ModelConfig, Project, Session

COLOURS = 16
AGENTS_FROM = 1_000  # sessions, the newest, whose agents the filter offers
OPTIONS_MAX = 200
ROWS_MAX = 50
NOBODY = Name("none", OTHERS)


@dataclass(frozen=True, slots=True)
class Facet:
    """One menu of the filters."""

    label: str
    name: str
    chosen: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything on the page that is summed; root of the panel costs/figures."""

    figures: Figures
    facets: list[Facet]
    unpriced: Unpriced
    path: str


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was spent in a period, of which so many rows are told apart."""

    project: Project
    period: Period
    pieces: Collection[Piece]
    rows: int

    def shown(self, of: Callable[[Piece], Key]) -> list[Key]:
        """Return what gets a row."""
        return ranked(by_key(self.pieces, of), self.rows)


def page(project: Project, asked: Params, now: datetime, rows: int = ROWS_MAX) -> Page:
    """Return what a project spent."""
    period = asked.period(now)
    pieces = [*spending.pieces(project.pk, asked, period), *selection_usage.pieces(project.pk, asked, period)]
    bars = spending.bars(project.pk, asked, period)
    if asked.by == "session":
        dearest = sessions.dearest(project.pk, period, rows - 1)
        told = sessions.pieces(dearest, asked, period)
        told += [replace(piece, spent=-piece.spent, session=0) for piece in told]
        pieces, bars = [*pieces, *told], [*bars, *told]
    told_apart = _GROUPINGS[asked.by](_Reading(project, period, pieces, rows))
    before = spending.whole(project.pk, asked, period.before)
    return Page(
        figures(asked, period, pieces, bars, told_apart, before),
        facets(project.pk, asked),
        unpriced(project.pk, pieces, now),
        reverse("costs", args=[project.slug]),
    )


def pages(asked: Params, projects: Collection[int]) -> Mapping[int, Page]:
    """Return what projects spent until now."""
    now = timezone.now()
    return {project.pk: page(project, asked, now) for project in Project.objects.filter(pk__in=projects)}


def facets(project: int, asked: Params) -> list[Facet]:
    """Return what can be asked for: what was recorded, and what is chosen already. Two queries."""
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk")
    agents = newest.values_list("agent_id", flat=True)[:AGENTS_FROM]
    models = ModelConfig.objects.filter(project=project).values_list("model", flat=True).distinct()
    return [
        Facet("Agent", "agent", asked.agent, _options(agents, asked.agent)),
        Facet("Model", "model", asked.model, _options(models.order_by("model")[:OPTIONS_MAX], asked.model)),
    ]


def _by_config(reading: _Reading) -> Grouping:
    shown = reading.shown(_config)
    known = chips([config for config in shown if isinstance(config, int)])
    named = {pk: Name(chip.model, f"c{chip.slot}", chip.parameter, chip.full) for pk, chip in known.items()}
    names = {key: named.get(key, NOBODY) if isinstance(key, int) else NOBODY for key in shown}
    return Grouping(_config, names, times(lengths_of_configs(list(known), reading.period)), SAMPLE_OF_CONFIG)


def _by_model(reading: _Reading) -> Grouping:
    configs = {piece.config for piece in reading.pieces if piece.config is not None}
    models = dict(ModelConfig.objects.filter(pk__in=configs).values_list("pk", "model"))

    def of(piece: Piece) -> Key:
        return "" if piece.config is None else models.get(piece.config, "")

    shown = reading.shown(of)
    named = [pk for pk, model in models.items() if model in shown]
    lengths: dict[Key, list[int]] = defaultdict(list)
    for config, each in lengths_of_configs(named, reading.period).items():
        lengths[models[config]] += each
    return Grouping(of, _coloured(shown, lambda model: Params(model=model)), times(lengths), SAMPLE_OF_CONFIG)


def _by_agent(reading: _Reading) -> Grouping:
    lengths = lengths_of_newest(reading.project.pk, "agent_id", reading.period)
    names = _coloured(reading.shown(_agent), lambda agent: Params(agent=agent))
    return Grouping(_agent, names, times(lengths), SAMPLE_OF_PROJECT)


def _by_session(reading: _Reading) -> Grouping:
    shown = [pk for pk in reading.shown(_session) if pk]
    rows = Session.objects.filter(pk__in=shown).values_list("pk", "title", "session_id")
    known = {pk: title or session_id for pk, title, session_id in rows}
    names: dict[Key, Name] = {
        pk: Name(known[pk], _colour(place), href=links.session(reading.project.slug, pk))
        for place, pk in enumerate(shown)
        if isinstance(pk, int) and pk in known
    }
    lengths = lengths_of_newest(reading.project.pk, "session", reading.period)
    return Grouping(_session, names | {0: Name("other sessions", OTHERS)}, times(lengths), SAMPLE_OF_PROJECT)


_GROUPINGS = {"config": _by_config, "model": _by_model, "agent": _by_agent, "session": _by_session}


def _config(piece: Piece) -> Key:
    return piece.config


def _agent(piece: Piece) -> Key:
    return piece.agent


def _session(piece: Piece) -> Key:
    return piece.session


def _coloured(keys: Collection[Key], alone: Callable[[str], Params]) -> dict[Key, Name]:
    """Return names that lead to a page of each `alone`; its colour is its place."""
    return {
        key: Name(str(key), _colour(place), href=alone(str(key)).query) if key else NOBODY
        for place, key in enumerate(keys)
    }


def _colour(place: int) -> str:
    return f"c{place % COLOURS + 1}"


def _options(offered: Iterable[str], chosen: str) -> tuple[str, ...]:
    return tuple(sorted({*offered, chosen} - {""}, key=lambda value: (value.casefold(), value)))
