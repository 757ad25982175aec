"""View of the page. Every member of the project can read it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.files import queries, rows
from dashboard.pages.files.params import FilesParams
from dashboard.security.access import member
from dashboard.web import links
from recorder.models import Project, Session


@require_safe
@member
def index(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Show the files and commands of a session, by file and in order."""
    try:
        session = queries.session_of(project.pk, pk)
    except Session.DoesNotExist as error:
        raise Http404 from error
    params, found = FilesParams.parse(request.GET), queries.files_of(session)
    listed = rows.matching(params, found.found)
    first = (params.page - 1) * rows.A_PAGE
    shown = listed[first : first + rows.A_PAGE]
    files = rows.file_rows(project.slug, params, found.found)
    context = {
        "project": project,
        "page": "sessions",
        "session": session,
        "session_url": links.session(project.slug, session.pk),
        "params": params,
        "found": found,
        "most": queries.CALLS,
        "choices": rows.choices(params, found),
        "files": files[: rows.FILES],
        "more_files": max(0, len(files) - rows.FILES),
        "rows": rows.touch_rows(project.slug, session.pk, shown, queries.exit_codes(shown)),
        "total": len(listed),
        "first": first + 1,
        "last": first + len(shown),
        "whole": params.but(path="", page=1).query,
        "previous": params.but(page=params.page - 1).query if params.page > 1 else "",
        "next": params.but(page=params.page + 1).query if len(listed) > first + rows.A_PAGE else "",
    }
    return render(request, "files/session.html", context)
