"""The session page as of a recorded event, and redirects to adjacent events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_safe

from dashboard.pages.session.header.queries import session as header_session
from dashboard.pages.session.params import SessionParams
from dashboard.pages.session.replay.queries import track_source
from dashboard.pages.session.replay.queries.moment import moment
from dashboard.security.access import member
from dashboard.shared.session_state import at_moment
from dashboard.web import links
from dashboard.web.query_params import whole_number
from recorder.models import Project, Session
from recorder.projection.as_of import as_of

__all__ = ["moment", "step", "viewing_as_of"]


@contextmanager
def viewing_as_of(session: Session, at: int | None) -> Iterator[None]:
    """Run queries as of the event `at` and keep it in links; without an event change nothing.

    Raises NotOfSession or Pruned.
    """
    if at is None:
        yield
        return
    with as_of(session, at) as moment, at_moment(moment), links.staying(session.pk, at):
        yield


@require_safe
@member
def step(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Redirect to the previous, next or first event of a kind; after the last one to the live page."""
    if not header_session.is_in_project(project.pk, pk):
        raise Http404
    params, since = SessionParams.parse(request.GET), whole_number(request.GET.get("from", ""))
    by, to = request.GET.get("by", "event"), request.GET.get("to", "next")
    if by not in track_source.STEPS or to not in ("previous", "next", "first"):
        raise Http404
    if to == "first":
        event = track_source.first_event(pk)
    else:
        event = track_source.step(pk, since, cast("track_source.By", by), cast("track_source.To", to))
        event = since if event is None and to == "previous" else event
    tab = "" if params.tab == "conversation" else params.tab
    return HttpResponseRedirect(links.as_of(project.slug, pk, event, tab=tab))
