"""The download of the block ledger."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from dashboard.pages.session.as_of import viewing_as_of
from dashboard.pages.session.context import csv_export
from dashboard.pages.session.context.queries import read
from dashboard.pages.session.header.queries import session as header_session
from dashboard.pages.session.params import SessionParams
from dashboard.security.access import member
from dashboard.security.list_exports import exports
from dashboard.web import csv_response
from recorder.journal.read import Pruned
from recorder.models import Project, Session
from recorder.projection.as_of import NotOfSession


@require_safe
@member
@exports("context")
def download(request: HttpRequest, project: Project, pk: int) -> HttpResponseBase:
    """Return the block ledger of a session, or of the loop `scope`, as of the event `at` if there is one."""
    params = SessionParams.parse(request.GET)
    try:
        session = header_session.session_of(project.pk, pk)
        with viewing_as_of(session, params.at):
            rows = list(csv_export.rows(read(session, params.context.scope, params.context)))
    except (Session.DoesNotExist, NotOfSession, Pruned) as error:
        raise Http404 from error
    return csv_response.answer(f"context-{project.slug}-{pk}", csv_export.HEADER, rows)
