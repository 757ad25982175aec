"""The only writer of saved views: a name is unique among the views that the same people see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet
from django.utils.text import slugify

from recorder.models import DefaultView, Project, SavedView

NAME_MAX = 80
MINE_MAX, PROJECT_MAX = 200, 200  # views of one person in a project, and of the project


class DuplicateName(Exception):
    """Another view of this page, seen by the same people, has the name."""


class TooMany(Exception):
    """The person or the project has the maximum number of views."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a view: the query string without order and columns, the order, and the columns."""

    query: str = ""
    sort: str = ""
    columns: Sequence[str] = ()


def create(
    project: Project, owner: User, page: str, name: str, visibility: str, content: Content
) -> SavedView:
    """Add a view at the end of its page's views. Raises DuplicateName or TooMany."""
    view = SavedView(project=project, owner=owner, page=page, name=name, visibility=visibility)
    with transaction.atomic():
        same = _beside(view)
        _check_name(view)
        most = PROJECT_MAX if visibility == SavedView.Visibility.PROJECT else MINE_MAX
        of_all_pages = SavedView.objects.filter(project=project, visibility=visibility)
        if visibility == SavedView.Visibility.ME:
            of_all_pages = of_all_pages.filter(owner=owner)
        if of_all_pages.count() >= most:
            raise TooMany
        view.position = (same.aggregate(last=Max("position"))["last"] or 0) + 1
        _fill(view, content)
        _save(view)
    return view


def change(
    view: SavedView,
    *,
    name: str | None = None,
    visibility: str | None = None,
    content: Content | None = None,
) -> SavedView:
    """Change what is not None. Raises DuplicateName."""
    view.name = view.name if name is None else name
    view.visibility = view.visibility if visibility is None else visibility
    with transaction.atomic():
        _check_name(view)
        _fill(view, content or Content(view.query, view.sort, view.columns))
        _save(view)
        if view.visibility == SavedView.Visibility.ME:  # other users no longer see it
            DefaultView.objects.filter(view=view).exclude(user=view.owner).delete()
    return view


def delete(view: SavedView) -> None:
    view.delete()


def move(view: SavedView, direction: Literal["up", "down"]) -> None:
    """Swap the view with the one before or after it; at an end nothing changes."""
    with transaction.atomic():
        views = list(_beside(view).select_for_update().order_by("position", "pk"))
        at = [each.pk for each in views].index(view.pk)
        to = at - 1 if direction == "up" else at + 1
        if not 0 <= to < len(views):
            return
        views[at], views[to] = views[to], views[at]
        for position, each in enumerate(views, 1):
            each.position = position
        SavedView.objects.bulk_update(views, ["position"])


def make_default(user: User, view: SavedView, *, is_default: bool) -> None:
    """Make a view the default of its page for one person, or no longer."""
    if is_default:
        DefaultView.objects.update_or_create(
            user=user, project=view.project, page=view.page, defaults={"view": view}
        )
    else:
        DefaultView.objects.filter(user=user, view=view).delete()


def _beside(view: SavedView) -> QuerySet[SavedView]:
    """Return the views of the page that the same people see; a name is unique among them."""
    same = SavedView.objects.filter(project=view.project, page=view.page, visibility=view.visibility)
    return same.filter(owner=view.owner) if view.visibility == SavedView.Visibility.ME else same


def _check_name(view: SavedView) -> None:
    if _beside(view).filter(name=view.name).exclude(pk=view.pk).exists():
        raise DuplicateName


def _save(view: SavedView) -> None:
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:  # somebody used the name a moment ago
        raise DuplicateName from error


def _fill(view: SavedView, content: Content) -> None:
    view.query, view.sort, view.columns = content.query, content.sort, list(content.columns)
    view.slug = slugify(view.name, allow_unicode=True)[:NAME_MAX]
