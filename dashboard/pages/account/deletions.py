"""The progress of the deletion of a project, which itself has no page any more."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.pages.account import queries

REFRESH_S = 5


@require_safe
@never_cache
@login_required
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how far a deletion is, to the person who requested it and to superusers; it loads itself again."""
    found = queries.project_deletion(pk)
    if found is None or (found.user != request.user.pk and not getattr(request.user, "is_superuser", False)):
        raise Http404
    share = min(100, 100 * found.deleted // found.lines) if found.lines else 0
    response = render(request, "account/project_deletion.html", {"found": found, "share": share})
    if found.finished_at is None:
        response["Refresh"] = str(REFRESH_S)
    return response
