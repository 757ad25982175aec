"""The start page."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard.security.access import projects_of
from dashboard.shell.queries import has_sessions


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the user's first project, or to its welcome page while it is empty."""
    project = projects_of(request.user).first()
    if project is None:
        return render(request, "shell/no_project.html")
    return redirect("sessions" if has_sessions(project.pk) else "welcome", project.slug)
