"""The leaderboard as a page and as CSV."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.pages.leaderboard.export_rows import HEADER, cells
from dashboard.pages.leaderboard.leaderboard import Board, board
from dashboard.pages.leaderboard.params import FILTERS, SEARCH, Params
from dashboard.pages.leaderboard.queries import agents
from dashboard.security.access import member
from dashboard.shared.series_colours import chart_chips
from dashboard.shared.standings.queries import Found, Groups, read_groups
from dashboard.shared.standings.tally import RANKED_FROM
from dashboard.web import csv_response, links
from dashboard.web.filters import Menu, config_options, options
from dashboard.web.time_range import time_range
from recorder.models import Project


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the leaderboard; with `format=csv`, download its table."""
    params = Params.parse(request.GET)
    within = time_range(params, timezone.now())
    groups = Groups(
        project.pk,
        within.start,
        within.end,
        task=params.task,
        agent=params.agent,
        judge=params.judge,
    )
    found = read_groups(groups)
    shown = board(found.results, found.p95_ms, chart_chips(found.chips))
    if request.GET.get("format") == "csv":
        return csv_response.answer("leaderboard", HEADER, map(cells, shown.rows))
    return render(request, "leaderboard/index.html", _context(project, params, found, shown))


def _context(project: Project, params: Params, found: Found, shown: Board) -> dict[str, object]:
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
            replace(SEARCH, value=params.task),
        ),
        "evaluations": links.evaluations(project.slug),
    }


def _menus(project: Project, params: Params, found: Found) -> list[Menu]:
    judges = config_options("judge", (found.chips[judge] for judge in found.judges), params.judge)
    return [
        Menu("Agent", options("agent", agents(project.pk), params.agent)),
        Menu("Judge", judges, nothing="No judge was recorded here"),
    ]
