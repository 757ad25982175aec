"""The start page."""

from django.contrib.auth.decorators import login_required
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard.security.access import projects_of
from dashboard.shared.saved_views.bar import views_of
from dashboard.shared.saved_views.queries import page_or_default
from dashboard.shell.queries import has_sessions


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the sessions of the user's first project, or to Connect an agent while it is empty."""
    project = projects_of(request.user).order_by(F("archived_at").asc(nulls_first=True), "pk").first()
    if project is None:
        return render(request, "shell/no_project.html")
    if not has_sessions(project.pk):
        return redirect("connect", project.slug)
    return redirect(page_or_default("sessions", project.slug, views_of(request, project)))
