"""What the shell around a page asks for by itself: the reader's projects and what is live now."""

from collections.abc import Sequence

from django import template
from django.contrib.auth.models import AnonymousUser, User

from dashboard import access
from dashboard.shell.live import LIVE_NOW
from recorder.models import Project

register = template.Library()


@register.simple_tag
def projects_of(user: User | AnonymousUser) -> Sequence[Project]:
    """Return the projects that `user` may see."""
    return list(access.projects_of(user))


@register.simple_tag
def live_now(project: int) -> str:
    """Draw the sessions that run or wait, as the socket does."""
    return LIVE_NOW.draw([project]).get(project, "")
