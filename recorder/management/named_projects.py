"""The projects that the option `--project` of a command names."""

from __future__ import annotations

from django.conf import settings
from django.core.management.base import CommandError
from django.db.models import QuerySet

from recorder.models import Project


def project_of(slug: str) -> Project:
    """Return a project by its name in addresses. Raises CommandError."""
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(
            f"There is no project {slug!r}; `{settings.COMMAND} project list` shows those there are."
        )
    return project


def projects_of(slug: str | None) -> QuerySet[Project]:
    """Return the project of a name, or with None every project, the oldest first. Raises CommandError."""
    projects = Project.objects.order_by("pk")
    return projects if slug is None else projects.filter(pk=project_of(slug).pk)
