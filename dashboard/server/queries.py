"""Database queries of the server."""

from __future__ import annotations

from recorder.models import Project


def the_project(slug: str) -> int | None:
    """Return the primary key of the project with a slug, without one that of the only project; else None."""
    found = Project.objects.filter(slug=slug) if slug else Project.objects.all()
    keys = list(found.values_list("pk", flat=True)[:2])
    return keys[0] if len(keys) == 1 else None
