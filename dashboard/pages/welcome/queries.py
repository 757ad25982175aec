"""Database queries of the welcome page."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Min

from recorder.models import Project


@dataclass(frozen=True, slots=True)
class First:
    """A project's first recorded session, None while there is none."""

    slug: str
    session: int | None


def first_session(projects: Collection[int]) -> Mapping[int, First]:
    """Return the first session of each project."""
    found = Project.objects.filter(pk__in=projects).annotate(first=Min("sessions"))
    return {pk: First(slug, first) for pk, slug, first in found.values_list("pk", "slug", "first")}
