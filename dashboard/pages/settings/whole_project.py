"""Archives, restores and deletes a project. For its admins, who type its name for the first and the last."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.security.access import member, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from dashboard.web.errors import refused
from recorder.access.rights import Right
from recorder.models import Project
from recorder.operations import scheduler
from recorder.operations.people import project_deletion, projects
from recorder.operations.people.errors import Refused


@require_POST
@member
def archive(request: HttpRequest, project: Project) -> HttpResponse:
    """Archive the project, confirmed by its name."""
    require(request, project, Right.MANAGE_PROJECT)
    if not _is_confirmed(request, project):
        return refused(request, f"Nothing was changed: type {project.slug} to archive the project.")
    try:
        projects.archive(project, actor_of(request))
    except Refused as error:
        return refused(request, str(error), 409)
    return redirect("settings", project.slug)


@require_POST
@member
def restore(request: HttpRequest, project: Project) -> HttpResponse:
    """Restore the archived project."""
    require(request, project, Right.MANAGE_PROJECT)
    try:
        projects.restore(project, actor_of(request))
    except Refused as error:
        return refused(request, str(error), 409)
    return redirect("settings", project.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def delete(request: HttpRequest, project: Project) -> HttpResponse:
    """Say what is deleted with the project, and begin to delete it once its name is typed."""
    user = require(request, project, Right.MANAGE_PROJECT)
    if request.method != "POST" or not _is_confirmed(request, project):
        return _confirmation(request, project, is_wrong=request.method == "POST")
    try:
        begun = project_deletion.begin(project, actor_of(request), user.pk)
    except Refused as error:
        return refused(request, str(error), 409)
    scheduler.request(scheduler.DELETE_PROJECTS, timezone.now())
    return redirect("project-deletion", begun.pk)


def _confirmation(request: HttpRequest, project: Project, *, is_wrong: bool) -> HttpResponse:
    context = {
        "project": project,
        "page": "settings",
        "tab": "project",
        "may": rights(request.user, project),
        "ws_url": links.live(project.slug, "settings"),
        "going": project_deletion.preview(project),
        "is_wrong": is_wrong,
    }
    return render(request, "settings/delete.html", context, status=400 if is_wrong else 200)


def _is_confirmed(request: HttpRequest, project: Project) -> bool:
    return request.POST.get("confirm", "").strip() == project.slug
