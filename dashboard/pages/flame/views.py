"""The view of the flame graph of a session, alone or compared with another one."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.flame import live
from dashboard.pages.flame.figure import NAMES
from dashboard.pages.flame.params import MEASURES, FlameParams
from dashboard.pages.flame.queries.sessions import moment_of, session_of
from dashboard.security.access import member
from dashboard.web import links
from recorder.models import EventRecord, Project, Session


@require_safe
@member
def flame(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Show where the cost, the tokens or the time of a session went."""
    params = FlameParams.parse(request.GET)
    try:
        session = session_of(project.pk, pk)
        other = None if params.other is None else session_of(project.pk, params.other)
        moment_of(session, params.at)
    except (Session.DoesNotExist, EventRecord.DoesNotExist) as error:
        raise Http404 from error
    context = {
        "project": project,
        "page": "sessions",
        "session": session,
        "other": other,
        "params": params,
        "drawn": live.draw(live.FlamePage(project.pk, session.pk, params)),
        "measures": [(NAMES[by], params.but(by=by), by == params.by) for by in MEASURES],
        "session_url": links.as_of(project.slug, session.pk, params.at),
        "alone_url": params.but(other=None),
    }
    if params.at is None:
        context["ws_url"] = links.live(project.slug, "flame", session=session.pk, **params.pairs())
    return render(request, "flame/index.html", context)
