"""Data for browser notifications, and the switches of the policy."""

from __future__ import annotations

from dataclasses import asdict

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe

from dashboard.lifecycle.notification_policy import POLICY, REQUESTED, ROWS
from dashboard.notifications import queries
from dashboard.security.access import HtmxRequest, next_place
from dashboard.web.errors import refused
from dashboard.web.query_params import whole_number

WORKER = settings.ASSETS / "static" / "js" / "notifications" / "service_worker.js"
SESSIONS_AT_ONCE = 100


@require_safe
def worker(_: HttpRequest) -> HttpResponse:
    """Return the service worker, served at the root: it controls only pages below its own path."""
    headers = {"Cache-Control": "no-cache"}
    return HttpResponse(WORKER.read_bytes(), content_type="text/javascript; charset=utf-8", headers=headers)


@require_GET
@never_cache
def now(request: HttpRequest) -> HttpResponse:
    """Return the rows that notify this user, the open approvals, and the titles of `session` parameters."""
    if not isinstance(request.user, User):
        return JsonResponse({"code": "unauthorized", "message": "sign in first"}, status=401)
    pks = map(whole_number, request.GET.getlist("session"))
    sessions = [pk for pk in pks if pk is not None][:SESSIONS_AT_ONCE]
    muted = queries.muted(request.user)
    rows = {row.key: row.says for row in ROWS if row.says}
    return JsonResponse(
        {
            "reader": request.user.pk,
            "rows": rows,
            "muted": sorted(muted & rows.keys()),
            "titles": queries.titles(request.user, sessions),
            "waiting": [] if REQUESTED in muted else [asdict(row) for row in queries.waiting(request.user)],
        }
    )


@require_POST
@login_required
def mute(request: HtmxRequest) -> HttpResponse:
    """Turn the notifications of one policy row off or on for the signed-in user."""
    assert isinstance(request.user, User)
    row = POLICY.get(request.POST.get("row", ""))
    if row is None or not row.says:
        return refused(request, "No such notification.")
    is_muted = request.POST.get("notify") != "on"
    if is_muted:
        request.user.mutes.get_or_create(row=row.key)
    else:
        request.user.mutes.filter(row=row.key).delete()
    if not request.htmx:
        return redirect(next_place(request, request.POST.get("next", "")))
    shown = {"row": row, "is_muted": is_muted, "next": request.POST.get("next", "")}
    return render(request, "notifications/_switch.html", shown)
