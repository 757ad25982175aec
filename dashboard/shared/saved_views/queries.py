"""Saved views that a person may see: their own, and those of the project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet

from dashboard.web import links
from dashboard.web.lists.address import in_view
from recorder.models import DefaultView, Project, SavedView

COLUMNS = (
    *("project", "page", "name", "slug", "query", "sort", "columns", "visibility", "position"),
    "owner__username",
)


@dataclass(frozen=True, slots=True)
class View:
    """One saved view."""

    pk: int
    name: str
    slug: str
    page: str
    query: str
    sort: str
    columns: tuple[str, ...]
    visibility: str
    owner: str
    owner_pk: int
    is_default: bool  # of the person who asks
    url: str

    @property
    def is_mine(self) -> bool:
        """Return whether only its owner sees it."""
        return self.visibility == SavedView.Visibility.ME

    @property
    def icon(self) -> str:
        return "user" if self.is_mine else "users"


def rows(project: Project, user: AbstractBaseUser | AnonymousUser | None) -> QuerySet[SavedView]:
    """Return the views that a person sees; without one, as for a token, those of the project."""
    condition = Q(visibility=SavedView.Visibility.PROJECT)
    if user is not None and user.pk is not None:
        condition |= Q(visibility=SavedView.Visibility.ME, owner=user.pk)
    return SavedView.objects.filter(condition, project=project).select_related("owner").only(*COLUMNS)


def visible(project: Project, user: AbstractBaseUser | AnonymousUser | None) -> Sequence[View]:
    """Return the views that a person sees, their own first, each group in its order. One query."""
    chosen = DefaultView.objects.filter(view=OuterRef("pk"), user=(user and user.pk) or 0)
    found = rows(project, user).annotate(is_default=Exists(chosen))
    return [view_of(project.slug, row) for row in found.order_by("visibility", "position", "pk")]


def one(project: Project, user: AbstractBaseUser | AnonymousUser | None, pk: int) -> SavedView | None:
    """Return a view that a person sees. One query."""
    return rows(project, user).filter(pk=pk).first()


def view_of(slug: str, row: SavedView) -> View:
    columns = tuple(row.columns)
    query = in_view(row.page, row.pk, row.query, row.sort, columns)
    return View(
        pk=row.pk,
        name=row.name,
        slug=row.slug,
        page=row.page,
        query=row.query,
        sort=row.sort,
        columns=columns,
        visibility=row.visibility,
        owner=row.owner.get_username(),
        owner_pk=row.owner_id,
        is_default=getattr(row, "is_default", False),
        url=links.page_of_view(row.page, slug) + query,
    )


def page_or_default(page: str, slug: str, views: Sequence[View]) -> str:
    """Return the link of a page in the navigation: its default view of the visitor, else the page."""
    chosen = (view.url for view in views if view.page == page and view.is_default)
    return next(chosen, links.page(page, slug))
