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
from dashboard.pages.costs.params import MENUS, CostsParams, Period
from dashboard.pages.costs.queries import records, spending
from dashboard.pages.costs.queries.unpriced_models import Unpriced, unpriced
from dashboard.pages.costs.totals import UsageTotals
from dashboard.query_conditions.box import parsed
from dashboard.shared.queries import durations
from dashboard.shared.queries.config_labels import chips
from dashboard.shared.queries.durations import SAMPLE_OF_CONFIG, SAMPLE_OF_PROJECT, Duration
from dashboard.shared.series_colours import OTHERS, chart_chips, series_class
from dashboard.shared.spending.scope import Scope
from dashboard.web import links
from dashboard.web.filters import Menu, options
from recorder.models import ModelConfig, Project, Session, Turn

AGENTS_FROM = 1_000  # the newest sessions, whose agents are options of the filter
OPTIONS_MAX = 200
ROWS_MAX = 50
UNKNOWN_NAME = Name("none", OTHERS)


@dataclass(frozen=True, slots=True)
class CostOverview:
    """All totals of the page; root of the panel costs/figures."""

    figures: Figures
    unpriced: Unpriced
    path: str


@dataclass(frozen=True, slots=True)
class _Usage:
    """Usage rows of a period, its cost by bar, and the totals of the period before."""

    rows: list[UsageRow]
    bars: list[UsageRow]
    before: UsageTotals


@dataclass(frozen=True, slots=True)
class _UsageData:
    """Usage rows of a period, and the maximum number of table rows."""

    project: Project
    params: CostsParams
    scope: Scope
    period: Period
    usage_rows: Collection[UsageRow]
    rows: int

    @property
    def ended(self) -> durations.Period:
        return records.span(self.period)

    def shown(self, of: Callable[[UsageRow], Key]) -> list[Key]:
        """Return the keys that get a row."""
        return ranked(by_key(self.usage_rows, of), self.rows)


def page(project: Project, params: CostsParams, now: datetime, rows: int = ROWS_MAX) -> CostOverview:
    """Return the costs of a project, with at most `rows` table rows."""
    period = params.period(now)
    scope = parsed(params.q).spending(project.pk, now, params.reader).without(params.left_out)
    # Always by config, which identifies models without a price.
    keys = ("segment", "config", "agent") if params.by == "agent" else ("segment", "config")
    usage = _usage(project.pk, scope, period, keys)
    usage_rows, bars = [*usage.rows, *records.of_selection(project.pk, scope, period)], usage.bars
    if params.by == "session":
        most_expensive = records.most_expensive(project.pk, scope, period, rows - 1)
        # The usage rows know no session: add the rows of single sessions and subtract them from the rest
        # (session 0).
        by_session = records.of_sessions(project.pk, scope, period, most_expensive)
        by_session += [replace(row, usage=-row.usage, session=0) for row in by_session]
        usage_rows, bars = [*usage_rows, *by_session], [*bars, *by_session]
    grouping = _GROUPINGS[params.by](_UsageData(project, params, scope, period, usage_rows, rows))
    return CostOverview(
        figures(params, period, usage_rows, bars, grouping, usage.before),
        unpriced(project.pk, usage_rows, now),
        reverse("costs", args=[project.slug]),
    )


def _usage(project: int, scope: Scope, period: Period, keys: Collection[str]) -> _Usage:
    """Read the rollups with three queries if they can answer the query, else the records with four."""
    if scope.rollups is None:
        rows = records.usage_rows(project, scope, period, keys)
        return _Usage(rows, rows, records.whole(project, scope, period.before))
    return _Usage(
        spending.usage_rows(project, scope.rollups, period, keys),
        spending.bars(project, scope.rollups, period, keys),
        spending.whole(project, scope.rollups, period.before),
    )


def pages(params: CostsParams, projects: Collection[int]) -> Mapping[int, CostOverview]:
    """Return the costs of projects up to now."""
    now = timezone.now()
    return {project.pk: page(project, params, now) for project in Project.objects.filter(pk__in=projects)}


def menus(project: int, params: CostsParams) -> list[Menu]:
    """Return the menus, which write the query: recorded values and the current selection. Three queries."""
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk")
    agents = newest.values_list("agent_id", flat=True)[:AGENTS_FROM]
    switched = Turn.objects.filter(loop__session__project=project, loop__has_switched=True)
    took_over = switched.exclude(agent_id="").values_list("agent_id", flat=True).distinct()[:OPTIONS_MAX]
    models = ModelConfig.objects.filter(project=project).values_list("model", flat=True).distinct()
    offered = {"agent": [*agents, *took_over], "model": models.order_by("model")[:OPTIONS_MAX]}
    return MENUS.on(
        [
            Menu(name.capitalize(), options(name, values, params.chosen.get(name, ())))
            for name, values in offered.items()
        ]
    )


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
    newest = durations.of_configs(usage_data.project.pk, list(labels), usage_data.ended, usage_data.scope)
    return Grouping(_config, names, _times(newest, lambda duration: duration.config), SAMPLE_OF_CONFIG)


def _by_model(usage_data: _UsageData) -> Grouping:
    configs = {usage_row.config for usage_row in usage_data.usage_rows if usage_row.config is not None}
    models = dict(ModelConfig.objects.filter(pk__in=configs).values_list("pk", "model"))

    def of(usage_row: UsageRow) -> Key:
        return "" if usage_row.config is None else models.get(usage_row.config, "")

    shown = usage_data.shown(of)
    named = [pk for pk, model in models.items() if model in shown]
    newest = durations.of_configs(usage_data.project.pk, named, usage_data.ended, usage_data.scope)
    times = _times(newest, lambda duration: models[duration.config or 0])
    names = _coloured_names(shown, lambda model: usage_data.params.only("model", model))
    return Grouping(of, names, times, SAMPLE_OF_CONFIG)


def _by_agent(usage_data: _UsageData) -> Grouping:
    newest = durations.of_newest(usage_data.project.pk, usage_data.ended, usage_data.scope)
    names = _coloured_names(usage_data.shown(_agent), lambda agent: usage_data.params.only("agent", agent))
    return Grouping(_agent, names, _times(newest, lambda duration: duration.agent), SAMPLE_OF_PROJECT)


def _by_session(usage_data: _UsageData) -> Grouping:
    shown = [pk for pk in usage_data.shown(_session) if pk]
    rows = Session.objects.filter(pk__in=shown).values_list("pk", "title", "session_id")
    titles = {pk: title or session_id for pk, title, session_id in rows}
    names: dict[Key, Name] = {
        pk: Name(titles[pk], _colour(index), href=links.session(usage_data.project.slug, pk))
        for index, pk in enumerate(shown)
        if isinstance(pk, int) and pk in titles
    }
    newest = durations.of_newest_whole(usage_data.project.pk, usage_data.ended, usage_data.scope)
    times = _times(newest, lambda duration: duration.session)
    return Grouping(_session, names | {0: Name("other sessions", OTHERS)}, times, SAMPLE_OF_PROJECT)


_GROUPINGS = {"config": _by_config, "model": _by_model, "agent": _by_agent, "session": _by_session}


def _times(newest: Iterable[Duration], of: Callable[[Duration], Key]) -> Mapping[Key, Times]:
    """Return the percentiles of durations by key."""
    by_key = durations.grouped((of(duration), duration.ms) for duration in newest)
    rank = durations.percentile
    return {key: Times(rank(values, 50), rank(values, 95)) for key, values in by_key.items()}


def _config(usage_row: UsageRow) -> Key:
    return usage_row.config


def _agent(usage_row: UsageRow) -> Key:
    return usage_row.agent


def _session(usage_row: UsageRow) -> Key:
    return usage_row.session


def _coloured_names(keys: Collection[Key], link: Callable[[str], str]) -> dict[Key, Name]:
    """Return names that link to the page filtered by that key; the colour follows the position."""
    return {
        key: Name(str(key), _colour(index), href=link(str(key))) if key else UNKNOWN_NAME
        for index, key in enumerate(keys)
    }


def _colour(index: int) -> str:
    return series_class(index + 1 if index < SERIES_MAX else 0)
