"""Define, change and remove definitions of scores, with their entries in the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django.db import transaction

from recorder.core.records import Json
from recorder.models import Project, ScoreDefinition
from recorder.notes import definitions
from recorder.notes.definitions import Draft
from recorder.operations import audit
from recorder.operations.audit import Actor

FIELDS = ("kind", "least", "most", "categories", "meaning", "targets", "sources")


def define(project: Project, draft: Draft, by: str, actor: Actor) -> ScoreDefinition:
    """Create a definition. Raises Refused."""
    with transaction.atomic():
        made = definitions.define(project, draft, by)
        audit.record(project, actor, "score.define", made.name, after=_described(made))
    return made


def change(
    project: Project,
    name: str,
    actor: Actor,
    *,
    least: float | None,
    most: float | None,
    categories: Sequence[str],
    meaning: str,
) -> bool:
    """Change a definition; return whether there is one. Raises Refused."""
    with transaction.atomic():
        before = _current(project, name)
        bounds = {"least": least, "most": most}
        if not definitions.change(project, name, **bounds, categories=categories, meaning=meaning):
            return False
        audit.record(project, actor, "score.change", name, before=before, after=_current(project, name))
    return True


def remove(project: Project, name: str, actor: Actor) -> bool:
    """Delete a definition that no score uses; return whether there was one. Raises Refused."""
    with transaction.atomic():
        before = _current(project, name)
        if not definitions.remove(project, name):
            return False
        audit.record(project, actor, "score.remove", name, before=before)
    return True


def _current(project: Project, name: str) -> Json:
    found = ScoreDefinition.objects.filter(project=project, name=name).first()
    return None if found is None else _described(found)


def _described(found: ScoreDefinition) -> Json:
    """Return the fields of a definition that have a value."""
    values = {field: getattr(found, field) for field in FIELDS}
    return cast("Json", {field: value for field, value in values.items() if value not in (None, "", [], ())})
