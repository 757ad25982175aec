"""The costs page. Everyone who may see the project reads it; members set prices and reprice history."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.costs import csv_export, live, price_form, queries
from dashboard.pages.costs.params import Params
from dashboard.security.access import may, member, require
from dashboard.web import csv_response, links
from recorder.core.money.prices import Band
from recorder.models import Membership, Project
from recorder.pricing import backfill, price_book
from recorder.pubsub import invalidation


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what was spent in the asked period."""
    return _page(request, project, price_form.Typed())


@require_safe
@member
def as_csv(request: HttpRequest, project: Project) -> HttpResponse:
    """Download the table, all its rows."""
    asked = Params.parse(request.GET)
    figures = queries.page(project, asked, timezone.now(), rows=csv_export.ROWS_MAX).figures
    return csv_response.answer(f"costs-{project.slug}", csv_export.header(asked), csv_export.rows(figures))


@require_safe
@member
def accounts(request: HttpRequest, project: Project) -> HttpResponse:
    """Say whether the accounts agree: inside the ledger, or as a page of its own."""
    asked = Params.parse(request.GET)
    shown = {
        "project": project,
        "page": "costs",
        "asked": asked,
        "accounts": queries.accounts(project, asked.period(timezone.now())),
    }
    inside = bool(request.headers.get("HX-Request"))
    return render(request, "costs/said.html" if inside else "costs/accounts.html", shown)


@require_POST
@member
def set_price(request: HttpRequest, project: Project) -> HttpResponse:
    """Keep a price of the project's own, or say what is wrong with it."""
    user = require(request, project, Membership.Role.MEMBER)
    typed = price_form.read(_given(request))
    if typed.draft is None:
        return _page(request, project, typed, status=400)
    pair = typed.draft.model, typed.draft.provider
    with transaction.atomic():
        price_book.add(
            project.pk, pair, [Band(0, typed.draft.rates)], typed.draft.valid_from, user.get_username()
        )
    invalidation.publish(invalidation.Invalidation(project.pk))
    return _back(request, project)


@require_POST
@member
def reprice(request: HttpRequest, project: Project) -> HttpResponse:
    """Have every past call priced by the prices that hold now. A second click finds it asked for."""
    user = require(request, project, Membership.Role.MEMBER)
    if not queries.is_repricing_ahead(project.pk):
        backfill.request(project, None, user.get_username())
        invalidation.publish(invalidation.Invalidation(project.pk))
    return _back(request, project)


def _given(request: HttpRequest) -> dict[str, str]:
    """Return the fields of the form that was sent: of many unpriced models, those of the pressed button."""
    row = request.POST.get("set") or request.POST.get("free")
    given = {name: request.POST.get(f"{name}.{row}" if row else name, "") for name in price_form.WORDS}
    return given | dict.fromkeys(price_form.RATES, "0") if "free" in request.POST else given


def _page(
    request: HttpRequest, project: Project, typed: price_form.Typed, *, status: int = 200
) -> HttpResponse:
    asked = Params.parse(request.GET)
    page = live.CostsPage(project.pk, asked)
    context = {
        "project": project,
        "page": "costs",
        "ws_url": links.live(project.slug, "costs", **asked.pairs()),
        "asked": asked,
        "drawn": live.draw(page),
        "typed": typed,
        "is_member": may(request.user, project, Membership.Role.MEMBER),
    }
    return render(request, "costs/index.html", context, status=status)


def _back(request: HttpRequest, project: Project) -> HttpResponse:
    query = Params.parse(request.GET).query
    return redirect(f"{reverse('costs', args=[project.slug])}{query}#prices")
