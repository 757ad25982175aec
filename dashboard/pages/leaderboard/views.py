"""The leaderboard as a page and as CSV."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.pages.leaderboard.export_rows import HEADER, cells
from dashboard.pages.leaderboard.leaderboard import Board, board
from dashboard.pages.leaderboard.params import FILTERS, LeaderboardParams
from dashboard.pages.leaderboard.queries import agents
from dashboard.query_conditions.box import fault_of, parsed, query_box
from dashboard.query_conditions.conditions import evaluation_condition, loop_condition
from dashboard.security.access import member
from dashboard.security.list_exports import exports
from dashboard.shared.saved_views.bar import opens_view, views_bar
from dashboard.shared.series_colours import chart_chips
from dashboard.shared.standings.queries.groups import Found, Groups, read_groups
from dashboard.shared.standings.queries.scores import ScoreStandings, outcomes, score_standings
from dashboard.shared.standings.tally import RANKED_FROM
from dashboard.web import csv_response, links
from dashboard.web.csv_response import Cell
from dashboard.web.filters import Menu, Search, config_options, options
from dashboard.web.lists.download import Download, Suffix, respond
from dashboard.web.lists.period_cookie import remembers_period
from dashboard.web.time_range import time_range
from recorder.models import Project

SCORES_HEADER = ("config", "scores", "mean", "ci_low", "ci_high")


@require_safe
@member
@exports("leaderboard")
@remembers_period(FILTERS.windows, "all")
@opens_view("leaderboard")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the leaderboard; with `format=csv`, download its table."""
    params = LeaderboardParams.parse(request.GET, request.user.pk)
    names = outcomes(project.pk)
    if params.outcome in names:
        return _scores(request, project, params, names)
    found = read_groups(_groups(project, params))
    shown = board(found.results, found.p95_ms, chart_chips(found.chips))
    if request.GET.get("format") == "csv":
        return csv_response.answer("leaderboard", HEADER, map(cells, shown.rows))
    context = _context(project, params, found, shown) | {
        "outcomes": _outcomes(params, names),
        "views_bar": views_bar(request, project, "leaderboard", params),
    }
    return render(request, "leaderboard/index.html", context)


def _groups(project: Project, params: LeaderboardParams) -> Groups:
    now = timezone.now()
    within, query = time_range(params, now), parsed(params.q)
    return Groups(
        project.pk,
        within.start,
        within.end,
        task=params.task,
        agent=params.agent,
        judge=params.judge,
        query=query.on(evaluation_condition, project.pk, now, params.reader) if params.q else None,
        query_of_loops=query.on(loop_condition, project.pk, now, params.reader) if params.q else None,
    )


def _scores(
    request: HttpRequest, project: Project, params: LeaderboardParams, names: Sequence[str]
) -> HttpResponse:
    """Show the configs by the mean of a score, in place of their wins."""
    standings = score_standings(_groups(project, params), params.outcome)
    if request.GET.get("format") == "csv":
        return csv_response.answer("leaderboard", SCORES_HEADER, _score_rows(standings))
    address = links.page("leaderboard", project.slug)
    menus = [Menu("Agent", options("agent", agents(project.pk), params.agent)), Menu("Judge", [])]
    context = {
        "project": project,
        "page": "leaderboard",
        "ws_url": links.live(project.slug, "leaderboard"),
        "params": params,
        "bar": FILTERS.bar(params, address, menus, _box(project, params)),
        "views_bar": views_bar(request, project, "leaderboard", params),
        "download": address,
        "standings": standings,
        "outcomes": _outcomes(params, names),
    }
    return render(request, "leaderboard/scores.html", context)


def _box(project: Project, params: LeaderboardParams) -> Search:
    return query_box("Search evaluations", params, project.slug)


def _score_rows(standings: ScoreStandings) -> list[tuple[Cell, ...]]:
    return [(chip.full, row.count, row.mean, row.low, row.high) for chip, row in standings.shown]


def _outcomes(params: LeaderboardParams, names: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return word, URL and whether it is shown of each outcome; nothing to choose without scores."""
    shown = params.outcome if params.outcome in names else ""
    return [(name or "Wins", params.but(outcome=name).query or "?", name == shown) for name in ("", *names)]


def _context(project: Project, params: LeaderboardParams, found: Found, shown: Board) -> dict[str, object]:
    return {
        "project": project,
        "page": "leaderboard",
        "ws_url": links.live(project.slug, "leaderboard"),
        "params": params,
        "board": shown,
        "enough": RANKED_FROM,
        "bar": FILTERS.bar(
            params,
            links.page("leaderboard", project.slug),
            _menus(project, params, found),
            _box(project, params),
        ),
        "download": links.page("leaderboard", project.slug),
        "evaluations": links.evaluations(project.slug),
    }


def _menus(project: Project, params: LeaderboardParams, found: Found) -> list[Menu]:
    judges = config_options("judge", (found.chips[judge] for judge in found.judges), params.judge)
    return [
        Menu("Agent", options("agent", agents(project.pk), params.agent)),
        Menu("Judge", judges, nothing="No judge was recorded here"),
    ]


@require_safe
@member
@exports("leaderboard")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download the table of the leaderboard, of wins or of a score, for the query string."""
    params = LeaderboardParams.parse(request.GET, request.user.pk)
    if params.outcome in outcomes(project.pk):
        standings = score_standings(_groups(project, params), params.outcome)
        file = Download("leaderboard", project.slug, params, SCORES_HEADER, fault_of(params.q))
        return respond(request, file, [_score_rows(standings)], suffix)
    found = read_groups(_groups(project, params))
    shown = board(found.results, found.p95_ms, chart_chips(found.chips))
    file = Download("leaderboard", project.slug, params, HEADER, fault_of(params.q))
    return respond(request, file, [[cells(row) for row in shown.rows]], suffix)
