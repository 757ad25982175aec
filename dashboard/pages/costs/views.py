"""Views of the costs page.

Every member of the project can read it; those with the right SET_PRICES set and withdraw prices and reprice
history.
"""

from __future__ import annotations

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.costs import csv_export, live, price_form, queries
from dashboard.pages.costs.params import FILTERS, USUAL, CostsParams
from dashboard.query_conditions.box import fault_of, query_box
from dashboard.security.access import HtmxRequest, may, member, require
from dashboard.security.actor import actor_of
from dashboard.security.list_exports import exports
from dashboard.shared.saved_views.bar import opens_view, views_bar
from dashboard.web import links
from dashboard.web.lists.download import Download, Suffix, respond
from dashboard.web.lists.period_cookie import remembers_period
from dashboard.web.query_params import whole_number
from recorder.access.rights import Right
from recorder.core.money.prices import Band
from recorder.core.records import Json
from recorder.models import Project
from recorder.operations import audit
from recorder.pricing import backfill, price_book
from recorder.pubsub import invalidation


@require_safe
@member
@remembers_period(FILTERS.windows, USUAL)
@opens_view("costs")
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the costs of the selected period."""
    return _page(request, project, price_form.SubmittedForm())


@require_safe
@member
def accounts(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show the reconciliation of totals: a fragment for htmx, else a page of its own."""
    params = CostsParams.parse(request.GET)
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
    user = require(request, project, Right.SET_PRICES)
    form = price_form.read(_posted_fields(request))
    if form.draft is None:
        return _page(request, project, form, status=400)
    pair = form.draft.model, form.draft.provider
    with transaction.atomic():
        price_book.add(
            project.pk, pair, [Band(0, form.draft.rates)], form.draft.valid_from, user.get_username()
        )
        rates: Json = {name: str(getattr(form.draft.rates, name)) for name in price_form.RATES}
        audit.record(project, actor_of(request), "price.set", " ".join(pair), after=rates)
    invalidation.publish(invalidation.Invalidation(project.pk))
    return _back(request, project)


@require_POST
@member
def withdraw_price(request: HttpRequest, project: Project) -> HttpResponse:
    """End a price of the project for new calls. Does nothing if it was withdrawn before."""
    user = require(request, project, Right.SET_PRICES)
    price = queries.own_price(project.pk, whole_number(request.POST.get("price", "")) or 0)
    if price is None:
        raise Http404
    with transaction.atomic():
        price_book.withdraw(project.pk, price.pk, user.get_username())
        if price.until_event is None:
            pair = f"{price.model} {price.provider}"
            audit.record(project, actor_of(request), "price.withdraw", pair, before=price.bands)
    invalidation.publish(invalidation.Invalidation(project.pk))
    return _back(request, project)


@require_POST
@member
def reprice(request: HttpRequest, project: Project) -> HttpResponse:
    """Request that all past calls are priced at today's prices. Does nothing while a request is waiting."""
    user = require(request, project, Right.SET_PRICES)
    if not queries.is_repricing_ahead(project.pk):
        with transaction.atomic():
            backfill.request(project, None, user.get_username())
            audit.record(project, actor_of(request), "price.reprice", "all")
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
    params = CostsParams.parse(request.GET, request.user.pk)
    page = live.CostsPage(project.pk, params)
    address = links.page("costs", project.slug)
    context = {
        "project": project,
        "page": "costs",
        "ws_url": links.live(project.slug, "costs", **params.pairs()),
        "params": params,
        "bar": FILTERS.bar(
            params,
            address,
            queries.menus(project.pk, params),
            query_box("Search costs", params, project.slug),
        ),
        "drawn": live.draw(page),
        "views_bar": views_bar(request, project, "costs", params),
        "download": address,
        "what_if": _what_if(project, params),
        "typed": form,
        "may_set_prices": may(request.user, project, Right.SET_PRICES),
    }
    return render(request, "costs/index.html", context, status=status)


def _what_if(project: Project, params: CostsParams) -> str:
    """Return the link to What if for the same time range, and the agent if one is chosen."""
    agents = params.chosen.get("agent", ())
    chosen = {"since": params.since, "until": params.until, "agent": agents[0] if len(agents) == 1 else ""}
    return links.what_if(project.slug, **chosen)


def _back(request: HttpRequest, project: Project) -> HttpResponse:
    query = CostsParams.parse(request.GET).query
    return redirect(f"{reverse('costs', args=[project.slug])}{query}#prices")


@require_safe
@member
@exports("costs")
def download(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download the table with all rows."""
    params = CostsParams.parse(request.GET, request.user.pk)
    figures = queries.page(project, params, timezone.now(), rows=csv_export.ROWS_MAX).figures
    file = Download("costs", project.slug, params, csv_export.header(params), fault_of(params.q))
    return respond(request, file, [list(csv_export.rows(figures))], suffix)
