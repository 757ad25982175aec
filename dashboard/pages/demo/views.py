"""The demo's two buttons: play it into this server, and remove what it left."""

from contextlib import suppress

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from dashboard.security.access import member, require
from dashboard.web.errors import refused
from recorder.demo.player import AlreadyPlayingError, play_in_background
from recorder.demo.remove import forget_demo
from recorder.models import Membership, Project
from recorder.operations import server_info


@require_POST
@member
def play(request: HttpRequest, project: Project) -> HttpResponse:
    """Begin to play and show where it appears; a second click finds it playing."""
    require(request, project, Membership.Role.MEMBER)
    url = server_info.address()
    if url is None:
        why = f"This server does not know its own address: start it with {settings.COMMAND} up."
        return refused(request, why, 503)
    with suppress(AlreadyPlayingError):
        play_in_background(project, url)
    return redirect("sessions", project.slug)


@require_POST
@member
def remove(request: HttpRequest, project: Project) -> HttpResponse:
    """Remove all demo data of the project, whose name must be typed: it cannot be taken back."""
    require(request, project, Membership.Role.MEMBER)
    if request.POST.get("name") != project.slug:
        return refused(request, "Type the name of the project to remove its demo data.")
    forget_demo(project)
    return redirect("sessions", project.slug)
