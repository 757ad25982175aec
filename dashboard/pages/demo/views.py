"""Views of the demo: play it into this server, and remove its data."""

from contextlib import suppress

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from dashboard.security.access import member, require
from dashboard.security.actor import actor_of
from dashboard.web.errors import refused
from recorder.access.rights import Right
from recorder.demo.player import AlreadyPlayingError, play_in_background
from recorder.demo.remove import forget_demo
from recorder.models import Project
from recorder.operations import audit, server_info


@require_POST
@member
def play(request: HttpRequest, project: Project) -> HttpResponse:
    """Start the demo unless it is playing, and redirect to the sessions."""
    require(request, project, Right.PLAY_DEMO)
    url = server_info.address()
    if url is None:
        why = f"The address of this server is unknown: start it with {settings.COMMAND} up."
        return refused(request, why, 503)
    with suppress(AlreadyPlayingError):
        play_in_background(project, url)
        audit.record(project, actor_of(request), "demo.play", project.slug)
    return redirect("sessions", project.slug)


@require_POST
@member
def remove(request: HttpRequest, project: Project) -> HttpResponse:
    """Remove all demo data of the project, whose name must be typed: this cannot be undone."""
    require(request, project, Right.PLAY_DEMO)
    if request.POST.get("name") != project.slug:
        return refused(request, "Type the name of the project to remove its demo data.")
    with transaction.atomic():
        sessions = forget_demo(project)
        audit.record(project, actor_of(request), "demo.remove", project.slug, before={"sessions": sessions})
    return redirect("sessions", project.slug)
