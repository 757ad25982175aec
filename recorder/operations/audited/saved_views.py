"""Save, change, move and delete saved views; those of a project with entries in the audit log."""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import User
from django.db import transaction

from recorder.access import saved_views as store
from recorder.access.saved_views import Content
from recorder.core.records import Json
from recorder.models import Project, SavedView
from recorder.operations import audit
from recorder.operations.audit import Actor

SHARED = SavedView.Visibility.PROJECT


def create(
    project: Project, owner: User, page: str, name: str, visibility: str, content: Content, actor: Actor
) -> SavedView:
    """Add a view at the end of its page's views. Raises DuplicateName or TooMany."""
    with transaction.atomic():
        view = store.create(project, owner, page, name, visibility, content)
        if visibility == SHARED:
            audit.record(project, actor, "view.create", name, after=_described(view))
    return view


def change(
    view: SavedView,
    actor: Actor,
    *,
    name: str | None = None,
    visibility: str | None = None,
    content: Content | None = None,
) -> SavedView:
    """Change what is not None. Raises DuplicateName."""
    was_shared, before, target = view.visibility == SHARED, _described(view), view.name
    with transaction.atomic():
        store.change(view, name=name, visibility=visibility, content=content)
        if was_shared or view.visibility == SHARED:
            audit.record(view.project, actor, "view.change", target, before=before, after=_described(view))
    return view


def delete(view: SavedView, actor: Actor) -> None:
    """Delete a view."""
    with transaction.atomic():
        if view.visibility == SHARED:
            audit.record(view.project, actor, "view.remove", view.name, before=_described(view))
        store.delete(view)


def move(view: SavedView, direction: Literal["up", "down"], actor: Actor) -> None:
    """Swap the view with the one before or after it; at an end nothing changes."""
    before = view.position
    with transaction.atomic():
        store.move(view, direction)
        view.refresh_from_db(fields=["position"])
        if view.visibility == SHARED and view.position != before:
            audit.record(view.project, actor, "view.move", view.name, before=before, after=view.position)


def _described(view: SavedView) -> Json:
    fields: dict[str, Json] = {"name": view.name, "page": view.page, "visible_to": view.visibility}
    shown: dict[str, Json] = {"query": view.query, "sort": view.sort, "columns": list(view.columns)}
    return fields | {name: value for name, value in shown.items() if value}
