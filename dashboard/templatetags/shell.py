"""Template tags of the shell: projects of the user, live sessions, attention count."""

from collections.abc import Sequence

from django import template
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest

from dashboard.security import access
from dashboard.shared.queries.attention import Count, Counts
from dashboard.shared.saved_views.bar import views_of
from dashboard.shared.saved_views.queries import View, page_or_default
from dashboard.shell.live import LIVE_NOW, attention_of
from dashboard.web.errors import PROJECT
from recorder.models import Project

register = template.Library()


@register.simple_tag
def projects_of(user: User | AnonymousUser) -> Sequence[Project]:
    """Return the projects that `user` may see, archived ones last: the first has `is_first_archived`."""
    found = sorted(access.projects_of(user), key=lambda project: project.archived_at is not None)
    for project in found:
        if project.archived_at is not None:
            project.is_first_archived = True  # type: ignore[attr-defined]
            break
    return found


@register.simple_tag
def project_at(request: HttpRequest | None) -> Project | None:
    """Return the project of the URL; None without one that the visitor may see."""
    found, user = PROJECT.match(request.path_info) if request else None, getattr(request, "user", None)
    if found is None or user is None or not user.is_authenticated:
        return None
    return access.projects_of(user).filter(slug=found[1]).first()


@register.simple_tag
def saved_views(request: HttpRequest, project: Project) -> Sequence[View]:
    """Return the saved views that the visitor sees."""
    return views_of(request, project)


@register.simple_tag
def nav_url(name: str, project: Project, views: Sequence[View]) -> str:
    """Return the link of a page in the navigation: its default view of the visitor, else the page."""
    return page_or_default(name, project.slug, views)


@register.simple_tag
def live_now(project: int) -> str:
    """Render the panel of live sessions."""
    return LIVE_NOW.draw([project]).get(project, "")


@register.simple_tag
def attention(project: Project | str, user: User | AnonymousUser) -> Count | None:
    """Return the attention count of the user; None outside of a project or without a user."""
    if not isinstance(project, Project) or user.pk is None:
        return None
    return Counts(project.pk)([user.pk])[user.pk]


@register.simple_tag
def attention_panel(project: Project, user: User, count: Count) -> str:
    """Render the panel of the attention count."""
    return attention_of(project.pk).fragment(user.pk, count)
