"""What the shell around a page asks for itself: the reader's projects, what is live, what asks for them."""

from collections.abc import Sequence

from django import template
from django.contrib.auth.models import AnonymousUser, User

from dashboard.security import access
from dashboard.shared.attention import Count, Counts
from dashboard.shell.live import LIVE_NOW, attention_of
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


@register.simple_tag
def attention(project: Project | str, user: User | AnonymousUser) -> Count | None:
    """Count what asks for the reader; None where nobody reads a project."""
    if not isinstance(project, Project) or user.pk is None:
        return None
    return Counts(project.pk)([user.pk])[user.pk]


@register.simple_tag
def attention_panel(project: Project, user: User, asks: Count) -> str:
    """Draw the count, as the socket does."""
    return attention_of(project.pk).fragment(user.pk, asks)
