"""Figures of the costs page: usage in the selected grouping, with names, colours and durations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse
from django.utils import timezone

from dashboard.pages.costs.chart import Name
from dashboard.pages.costs.figures import (
    SERIES_MAX,
    Figures,
    Grouping,
    Key,
    Times,
    UsageRow,
    by_key,
    figures,
    ranked,
)
from dashboard.pages.costs.params import FILTERS, Params, Period
from dashboard.pages.costs.queries import selection_usage, sessions, spending
from dashboard.pages.costs.queries.unpriced_models import Unpriced, unpriced
from dashboard.shared import durations
from dashboard.shared.config_labels import chips
from dashboard.shared.durations import SAMPLE_OF_CONFIG, SAMPLE_OF_PROJECT, Duration
from dashboard.shared.series_colours import OTHERS, chart_chips, series_class
from dashboard.web import links
from dashboard.web.filters import Bar, Menu, options
from recorder.models import ModelConfig, Project, Session, Turn

AGENTS_FROM = 1_000  # the newest sessions, whose agents are options of the filter
OPTIONS_MAX = 200
ROWS_MAX = 50
UNKNOWN_NAME = Name("none", OTHERS)


@dataclass(frozen=True, slots=True)
class Page:
    """All totals of the page; root of the panel costs/figures."""

    figures: Figures
    bar: Bar
    unpriced: Unpriced
    path: str


@dataclass(frozen=True, slots=True)
class _UsageData:
    """Usage rows of a period, and the maximum number of table rows."""

    project: Project
    params: Params
    period: Period
    usage_rows: Collection[UsageRow]
    rows: int

    @property
    def ended(self) -> durations.Period:
        return durations.Period(self.period.start, self.period.end)

    def shown(self, of: Callable[[UsageRow], Key]) -> list[Key]:
        """Return the keys that get a row."""
        return ranked(by_key(self.usage_rows, of), self.rows)


def page(project: Project, params: Params, now: datetime, rows: int = ROWS_MAX) -> Page:
    """Return the costs of a project, with at most `rows` table rows."""
    period = params.period(now)
    usage_rows = [
        *spending.usage_rows(project.pk, params, period),
        *selection_usage.usage_rows(project.pk, params, period),
    ]
    bars = spending.bars(project.pk, params, period)
    if params.by == "session":
        most_expensive = sessions.most_expensive(project.pk, period, rows - 1)
        # The rollups know no session: add the rows of single sessions and subtract them from the rest
        # (session 0).
        by_session = sessions.usage_rows(most_expensive, params, period)
        by_session += [replace(row, usage=-row.usage, session=0) for row in by_session]
        usage_rows, bars = [*usage_rows, *by_session], [*bars, *by_session]
    grouping = _GROUPINGS[params.by](_UsageData(project, params, period, usage_rows, rows))
    path = reverse("costs", args=[project.slug])
    before = spending.whole(project.pk, params, period.before)
    return Page(
        figures(params, period, usage_rows, bars, grouping, before),
        FILTERS.bar(replace(params, notes=()), path, menus(project.pk, params)),
        unpriced(project.pk, usage_rows, now),
        path,
    )


def pages(params: Params, projects: Collection[int]) -> Mapping[int, Page]:
    """Return the costs of projects up to now."""
    now = timezone.now()
    return {project.pk: page(project, params, now) for project in Project.objects.filter(pk__in=projects)}


def menus(project: int, params: Params) -> list[Menu]:
    """Return the menus of the filters: recorded values and the current selection. Three queries."""
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk")
    agents = newest.values_list("agent_id", flat=True)[:AGENTS_FROM]
    switched = Turn.objects.filter(loop__session__project=project, loop__has_switched=True)
    took_over = switched.exclude(agent_id="").values_list("agent_id", flat=True).distinct()[:OPTIONS_MAX]
    models = ModelConfig.objects.filter(project=project).values_list("model", flat=True).distinct()
    return [
        Menu("Agent", options("agent", [*agents, *took_over], params.agent)),
        Menu("Model", options("model", models.order_by("model")[:OPTIONS_MAX], params.model)),
    ]


def _by_config(usage_data: _UsageData) -> Grouping:
    shown = usage_data.shown(_config)
    labels = chips([config for config in shown if isinstance(config, int)])
    in_chart = {pk: labels[pk] for pk in shown[:SERIES_MAX] if isinstance(pk, int) and pk in labels}
    slots = {pk: chip.slot for pk, chip in chart_chips(in_chart).items()}
    named = {
        pk: Name(chip.model, series_class(slots.get(pk, 0)), chip.parameter, chip.full)
        for pk, chip in labels.items()
    }
    names = {key: named.get(key, UNKNOWN_NAME) if isinstance(key, int) else UNKNOWN_NAME for key in shown}
    found = durations.of_configs(usage_data.project.pk, list(labels), usage_data.ended)
    return Grouping(_config, names, _times(usage_data, found, lambda each: each.config), SAMPLE_OF_CONFIG)


def _by_model(usage_data: _UsageData) -> Grouping:
    configs = {usage_row.config for usage_row in usage_data.usage_rows if usage_row.config is not None}
    models = dict(ModelConfig.objects.filter(pk__in=configs).values_list("pk", "model"))

    def of(usage_row: UsageRow) -> Key:
        return "" if usage_row.config is None else models.get(usage_row.config, "")

    shown = usage_data.shown(of)
    named = [pk for pk, model in models.items() if model in shown]
    found = durations.of_configs(usage_data.project.pk, named, usage_data.ended)
    times = _times(usage_data, found, lambda each: models[each.config or 0])
    names = _coloured(shown, lambda model: usage_data.params.but(model=(model,)))
    return Grouping(of, names, times, SAMPLE_OF_CONFIG)


def _by_agent(usage_data: _UsageData) -> Grouping:
    found = durations.of_newest(usage_data.project.pk, usage_data.ended)
    names = _coloured(usage_data.shown(_agent), lambda agent: usage_data.params.but(agent=(agent,)))
    return Grouping(_agent, names, _times(usage_data, found, lambda each: each.agent), SAMPLE_OF_PROJECT)


def _by_session(usage_data: _UsageData) -> Grouping:
    shown = [pk for pk in usage_data.shown(_session) if pk]
    rows = Session.objects.filter(pk__in=shown).values_list("pk", "title", "session_id")
    titles = {pk: title or session_id for pk, title, session_id in rows}
    names: dict[Key, Name] = {
        pk: Name(titles[pk], _colour(index), href=links.session(usage_data.project.slug, pk))
        for index, pk in enumerate(shown)
        if isinstance(pk, int) and pk in titles
    }
    found = durations.of_newest_whole(usage_data.project.pk, usage_data.ended)
    times = _times(usage_data, found, lambda each: each.session)
    return Grouping(_session, names | {0: Name("other sessions", OTHERS)}, times, SAMPLE_OF_PROJECT)


_GROUPINGS = {"config": _by_config, "model": _by_model, "agent": _by_agent, "session": _by_session}


def _times(
    usage_data: _UsageData, found: Iterable[Duration], of: Callable[[Duration], Key]
) -> Mapping[Key, Times]:
    """Return the percentiles of the durations that match the filters, by key."""
    params = usage_data.params
    excluded = spending.excluded(params)
    of_model = ModelConfig.objects.filter(project=usage_data.project, model__in=params.model)
    configs = set(of_model.values_list("pk", flat=True)) if params.model else None
    by_key = durations.grouped(
        (of(each), each.ms)
        for each in found
        if each.segment not in excluded
        and (not params.agent or each.agent in params.agent)
        and (configs is None or each.config in configs)
    )
    rank = durations.percentile
    return {key: Times(rank(values, 50), rank(values, 95)) for key, values in by_key.items()}


def _config(usage_row: UsageRow) -> Key:
    return usage_row.config


def _agent(usage_row: UsageRow) -> Key:
    return usage_row.agent


def _session(usage_row: UsageRow) -> Key:
    return usage_row.session


def _coloured(keys: Collection[Key], params_of: Callable[[str], Params]) -> dict[Key, Name]:
    """Return names that link to the page filtered by that key; the colour follows the position."""
    return {
        key: Name(str(key), _colour(index), href=params_of(str(key)).query) if key else UNKNOWN_NAME
        for index, key in enumerate(keys)
    }


def _colour(index: int) -> str:
    return series_class(index + 1 if index < SERIES_MAX else 0)
