"""HTTP views for jumps and search within a session."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.session import as_of
from dashboard.pages.session.header.queries import session as header_session
from dashboard.pages.session.navigation import queries
from dashboard.security.access import member
from dashboard.web import links
from dashboard.web.query_params import whole_number
from recorder.core.content.text import clean
from recorder.journal.read import Pruned
from recorder.models import Project, Session
from recorder.projection.as_of import NotOfSession

LONGEST = 200


@require_safe
@member
def jump(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Redirect to the next place of a kind, `to`, after `loop` and `turn`, or to one that there is once."""
    to = next((kind for kind in queries.TOS if kind == request.GET.get("to")), None)
    loop, turn, at = (whole_number(request.GET.get(name, "")) for name in ("loop", "turn", "at"))
    try:
        with as_of.viewing_as_of(header_session.session_of(project.pk, pk), at):
            return HttpResponseRedirect(_next(project.slug, pk, to, loop, turn))
    except (Session.DoesNotExist, NotOfSession, Pruned) as error:
        raise Http404 from error


def _next(slug: str, pk: int, to: queries.To | None, loop: int | None, turn: int | None) -> str:
    if to is None:
        raise Http404
    place = queries.next_place(pk, to, loop, turn)
    if place is None:
        return links.loop(slug, pk, loop) if loop else links.session(slug, pk)
    if place.turn is None:
        return f"{links.loop(slug, pk, place.loop)}#loop"
    return f"{links.loop(slug, pk, place.loop, turn=place.turn)}#turn-{place.turn}"


@require_safe
@member
def search(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Show the events of a session that contain all words of the query."""
    try:
        session = header_session.session_of(project.pk, pk)
    except Session.DoesNotExist as error:
        raise Http404 from error
    q = " ".join(clean(request.GET.get("q", ""))[:LONGEST].split())
    after = whole_number(request.GET.get("after", "")) or 0
    context = {
        "project": project,
        "page": "sessions",
        "session": session,
        "q": q,
        "found": queries.hits(session, q, after) if q else None,
        "is_first": not after,
    }
    return render(request, "session/navigation/search.html", context)
