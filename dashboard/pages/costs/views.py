"""Views of the costs page.

Every member of the project can read it; the role MEMBER may set and withdraw prices and reprice history.
"""

from __future__ import annotations

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.costs import csv_export, live, price_form, queries
from dashboard.pages.costs.params import FILTERS, Params
from dashboard.security.access import HtmxRequest, may, member, require
from dashboard.web import csv_response, links
from dashboard.web.query_params import whole_number
from recorder.core.money.prices import Band
from recorder.models import Membership, Project
from recorder.pricing import backfill, price_book
from recorder.pubsub import invalidation


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the costs of the selected period."""
    return _page(request, project, price_form.SubmittedForm())


@require_safe
@member
def as_csv(request: HttpRequest, project: Project) -> HttpResponse:
    """Download the table with all rows as CSV."""
    params = Params.parse(request.GET)
    figures = queries.page(project, params, timezone.now(), rows=csv_export.ROWS_MAX).figures
    return csv_response.answer(f"costs-{project.slug}", csv_export.header(params), csv_export.rows(figures))


@require_safe
@member
def accounts(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show the reconciliation of totals: a fragment for htmx, else a page of its own."""
    params = Params.parse(request.GET)
    shown = {
        "project": project,
        "page": "costs",
        "params": params,
        "accounts": queries.accounts(project, params.period(timezone.now())),
    }
    return render(
        request,
        "costs/reconciliation/result.html" if request.htmx else "costs/reconciliation/index.html",
        shown,
    )


@require_POST
@member
def set_price(request: HttpRequest, project: Project) -> HttpResponse:
    """Add a price of the project, or show the form with its errors."""
    user = require(request, project, Membership.Role.MEMBER)
    form = price_form.read(_posted_fields(request))
    if form.draft is None:
        return _page(request, project, form, status=400)
    pair = form.draft.model, form.draft.provider
    with transaction.atomic():
        price_book.add(
            project.pk, pair, [Band(0, form.draft.rates)], form.draft.valid_from, user.get_username()
        )
    invalidation.publish(invalidation.Invalidation(project.pk))
    return _back(request, project)


@require_POST
@member
def withdraw_price(request: HttpRequest, project: Project) -> HttpResponse:
    """End a price of the project for new calls. Does nothing if it was withdrawn before."""
    user = require(request, project, Membership.Role.MEMBER)
    price = whole_number(request.POST.get("price", ""))
    if price is None or not queries.has_own_price(project.pk, price):
        raise Http404
    with transaction.atomic():
        price_book.withdraw(project.pk, price, user.get_username())
    invalidation.publish(invalidation.Invalidation(project.pk))
    return _back(request, project)


@require_POST
@member
def reprice(request: HttpRequest, project: Project) -> HttpResponse:
    """Request that all past calls are priced at today's prices. Does nothing while a request is waiting."""
    user = require(request, project, Membership.Role.MEMBER)
    if not queries.is_repricing_ahead(project.pk):
        backfill.request(project, None, user.get_username())
        invalidation.publish(invalidation.Invalidation(project.pk))
    return _back(request, project)


def _posted_fields(request: HttpRequest) -> dict[str, str]:
    """Return the submitted fields: of the list of unpriced models, those of the pressed button's row."""
    row = request.POST.get("set") or request.POST.get("free")
    values = {name: request.POST.get(f"{name}.{row}" if row else name, "") for name in price_form.WORDS}
    return values | dict.fromkeys(price_form.RATES, "0") if "free" in request.POST else values


def _page(
    request: HttpRequest, project: Project, form: price_form.SubmittedForm, *, status: int = 200
) -> HttpResponse:
    params = Params.parse(request.GET)
    page = live.CostsPage(project.pk, params)
    context = {
        "project": project,
        "page": "costs",
        "ws_url": links.live(project.slug, "costs", **params.pairs()),
        "params": params,
        "range": FILTERS.range_menu(params, links.page("costs", project.slug)),
        "drawn": live.draw(page),
        "typed": form,
        "is_member": may(request.user, project, Membership.Role.MEMBER),
    }
    return render(request, "costs/index.html", context, status=status)


def _back(request: HttpRequest, project: Project) -> HttpResponse:
    query = Params.parse(request.GET).query
    return redirect(f"{reverse('costs', args=[project.slug])}{query}#prices")
