"""The start page, and what any open page of a project asks for."""

from django.contrib.auth.decorators import login_required
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard.security.access import HtmxRequest, member, projects_of
from dashboard.shared.saved_views.bar import views_of
from dashboard.shared.saved_views.queries import page_or_default
from dashboard.shell.queries import has_sessions
from recorder.models import Project


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


@require_safe
@member
def behind(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show how far the reading of spans is behind; an open page that shows it asks every 5 s.

    When they are read, a page with a socket (`live`) has them; the others get a request to reload.
    """
    is_live = "live" in request.GET
    context = {"project": project, "ws_url": is_live, "reloads": bool(request.htmx) and not is_live}
    return render(request, "_shared/document/behind.html", context)
