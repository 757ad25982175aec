"""For how long data of a project is kept. A shorter period that deletes some is confirmed by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.security.access import member, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.query_params import whole_number
from recorder.access.rights import Right
from recorder.models import Project
from recorder.operations.expiry import periods
from recorder.operations.expiry.periods import PERIODS

DAYS = (7, 14, 30, 60, 90, 180, 365, 730, 1_095, 1_825, 2_555, 3_650)
WORDS = {
    "content": ("Content of recorded lines", "messages, thinking, arguments, results, streamed text"),
    "records": (
        "Sessions and their records",
        "whole sessions with costs and totals, so long after their last event",
    ),
    "notes": ("Notes, scores and bookmarks", "so long after the last word of a note and its replies"),
    "audit": ("Audit log", "who did what, apart from recorded data"),
}


@dataclass(frozen=True, slots=True)
class Offered:
    """A period as the form shows it; `days` is None for ever."""

    kind: str
    title: str
    about: str
    days: int | None
    choices: Sequence[int]


def offered(project: Project) -> list[Offered]:
    """Return the periods of a project with those that can be chosen."""
    shown = []
    for kind, (title, about) in WORDS.items():
        days = periods.days_of(project, kind)
        known = {each for each in DAYS if each >= PERIODS[kind].least_days}
        shown.append(Offered(kind, title, about, days, sorted(known | ({days} if days else set()))))
    return shown


@require_POST
@member
def change(request: HttpRequest, project: Project) -> HttpResponse:
    """Change for how many days a kind of data is kept; ask first if that deletes some."""
    require(request, project, Right.CHANGE_RETENTION)
    kind, sent = request.POST.get("kind", "content"), request.POST.get("days", "")
    if kind not in PERIODS:
        return refused(request, "There is no such kind of data.")
    days = whole_number(sent) or 0 if sent else None
    try:
        periods.check(kind, days)
    except ValueError as error:
        return refused(request, str(error))
    if periods.is_shorter(project, kind, days):
        going = periods.preview(project, kind, days, timezone.now())
        confirmed = request.POST.get("confirm")
        if going.number and (confirmed or "").strip() != project.slug:
            return _confirmation(request, project, kind, days or 0, going, is_wrong=confirmed is not None)
    periods.change(project, kind, days, actor_of(request))
    return redirect(reverse("settings", args=[project.slug]) + "#retention")


def _confirmation(
    request: HttpRequest,
    project: Project,
    kind: str,
    days: int,
    going: periods.Going,
    *,
    is_wrong: bool,
) -> HttpResponse:
    context = {
        "project": project,
        "page": "settings",
        "tab": "retention",
        "may": rights(request.user, project),
        "ws_url": links.live(project.slug, "settings"),
        "kind": kind,
        "title": WORDS[kind][0],
        "days": days,
        "going": going,
        "word": PERIODS[kind].word,
        "is_wrong": is_wrong,
    }
    return render(request, "settings/shorter.html", context, status=400 if is_wrong else 200)
