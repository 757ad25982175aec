"""Projects of the installation: created by commands and superusers, archived and restored by their admins."""

from __future__ import annotations

import re

from django.db import transaction
from django.utils import timezone

from recorder.core.content.text import clean
from recorder.models import Project
from recorder.operations import audit
from recorder.operations.people.errors import Refused

NAME = re.compile(r"[a-zA-Z0-9][-\w]{0,63}", re.ASCII)
TITLE_CHARS = 200


def create(name: str, title: str, actor: audit.Actor) -> Project:
    """Create a project. Raises Refused: the name is taken or invalid, or the title is too long."""
    if not NAME.fullmatch(name):
        raise Refused("A project's name has 1 to 64 letters, digits, - and _.")
    if len(title) > TITLE_CHARS:
        raise Refused(f"A title has at most {TITLE_CHARS} characters.")
    with transaction.atomic():
        project, is_new = Project.objects.get_or_create(
            slug=name, defaults={"title": clean(title, TITLE_CHARS)}
        )
        if not is_new:
            raise Refused(f"There is a project {name!r} already.")
        audit.record(project, actor, "project.create", name, after=project.title)
    return project


def archive(project: Project, actor: audit.Actor) -> None:
    """Make a project read-only: it records nothing until it is restored. Raises Refused."""
    if project.archived_at is not None:
        raise Refused("The project is archived already.")
    project.archived_at = timezone.now()
    with transaction.atomic():
        project.save(update_fields=["archived_at"])
        audit.record(project, actor, "project.archive", project.slug)


def restore(project: Project, actor: audit.Actor) -> None:
    """Undo `archive`. Raises Refused."""
    if project.archived_at is None:
        raise Refused("The project is not archived.")
    project.archived_at = None
    with transaction.atomic():
        project.save(update_fields=["archived_at"])
        audit.record(project, actor, "project.restore", project.slug)
