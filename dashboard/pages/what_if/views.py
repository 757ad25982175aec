"""Views of the page What if, and its files."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.what_if.params import FILTERS, WhatIfParams
from dashboard.security.access import member
from dashboard.security.list_exports import exports
from dashboard.shared.what_if.desk import Desk, desk
from dashboard.shared.what_if.models import MODELS_MAX, name_of
from dashboard.web import links
from dashboard.web.lists.download import Download, Suffix, Value, dollars, respond
from recorder.models import Project

HEADER = (
    *("figure", "name", "calls", "changed_calls", "tokens", "times_called", "recorded_usd", "cost_usd"),
    *("low_usd", "high_usd", "difference_usd", "exact", "bounded", "assumed"),
)


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what the calls of a session or a period would have cost otherwise."""
    params = WhatIfParams.parse(request.GET)
    scope = params.scope(project.pk)
    found = desk(scope, params.models)
    path = links.page("what_if", project.slug)
    shown = {
        "project": project,
        "page": "costs",
        "params": params,
        "desk": found,
        "scope": scope,
        "path": path,
        "range": FILTERS.bar(params, path).range,
        "models": [(name_of(key), name_of(key) in found.chosen) for key in found.offered],
        "models_max": MODELS_MAX,
    }
    return render(request, "what_if/index.html", shown)


@require_safe
@member
@exports("what-if")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download every figure."""
    params = WhatIfParams.parse(request.GET)
    found = desk(params.scope(project.pk), params.models)
    file = Download("what-if", project.slug, params, HEADER)
    return respond(request, file, [list(_rows(found))], suffix)


def _rows(found: Desk) -> Iterator[tuple[Value, ...]]:
    for line in found.lines:
        figure, reasons = line.figure, dict(line.reasons)
        yield (
            *(line.kind, line.name, figure.calls, figure.changed, line.tokens, line.used),
            *map(dollars, (figure.base_nano, figure.nano, figure.low_nano, figure.high_nano)),
            dollars(figure.difference_nano),
            *(reasons.get(label, "") for label in ("exact", "bounded", "assumed")),
        )
