"""The bar of views above a list: tabs of saved views, and what may be done with an edited one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect

from dashboard.shared.saved_views.queries import View, visible
from dashboard.shared.saved_views.rights import Rights, rights
from dashboard.web import links
from dashboard.web.lists.address import VIEW, WORDS, ListAddress, parameters
from dashboard.web.lists.pages import RANGE
from dashboard.web.query_params import whole_number
from recorder.access.saved_views import Content
from recorder.models import Project

COUNTED_MAX = 12  # views of a page that have a count


@dataclass(frozen=True, slots=True)
class Tab:
    """A saved view in the bar."""

    view: View
    is_current: bool
    is_edited: bool
    count: str = ""


@dataclass(frozen=True, slots=True)
class ViewsBar:
    """The content of `_shared/views_bar.html`. `content` is what saving this page would keep."""

    page: str
    slug: str
    mine: Sequence[Tab]
    shared: Sequence[Tab]
    rights: Rights
    content: Content
    first: str  # label of the tab without a view; "" if the page has tabs of its own
    is_first: bool
    is_lost: bool  # the address names a view that is not there, or that the person may not see

    @property
    def current(self) -> Tab | None:
        return next((tab for tab in (*self.mine, *self.shared) if tab.is_current), None)

    @property
    def can_edit(self) -> bool:
        current = self.current
        return bool(current and self.rights.may_edit(current.view.visibility, current.view.owner_pk))

    @property
    def columns(self) -> str:
        return ",".join(self.content.columns)


def views_bar(
    request: HttpRequest,
    project: Project,
    page: str,
    address: ListAddress,
    *,
    first: str = "All",
    count: Callable[[ListAddress], str] | None = None,
) -> ViewsBar:
    """Return the bar of a page. Two queries, and those of `count` for each view."""
    shown = address.content
    views = [view for view in views_of(request, project) if view.page == page]
    tabs = [_tab(view, address, shown, count if n < COUNTED_MAX else None) for n, view in enumerate(views)]
    found = any(tab.is_current for tab in tabs)
    return ViewsBar(
        page=page,
        slug=project.slug,
        mine=[tab for tab in tabs if tab.view.is_mine],
        shared=[tab for tab in tabs if not tab.view.is_mine],
        rights=rights(request.user, project),
        content=shown,
        first=first,
        is_first=not address.saved and not _is_filtered(address),
        is_lost=bool(address.saved) and not found,
    )


def views_of(request: HttpRequest, project: Project) -> Sequence[View]:
    """Return the views that the visitor sees, read once in a request: navigation and bar show them."""
    kept: dict[int, Sequence[View]] = request.__dict__.setdefault("saved_views", {})
    if project.pk not in kept:
        kept[project.pk] = visible(project, request.user)
    return kept[project.pk]


def opens_view(
    page: str, tabs: Collection[str] = ()
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Decorate a list page: an address with `view` alone, or with a view's name, leads to the whole address.

    `tabs` are values of `view` that the page has itself; no view is opened by such a name.
    """

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def opened(request: HttpRequest, project: Project, *args: Any, **kwargs: Any) -> HttpResponseBase:
            return _to_whole(request, project, page, tabs) or view(request, project, *args, **kwargs)

        return opened

    return decorate


def _to_whole(
    request: HttpRequest, project: Project, page: str, tabs: Collection[str]
) -> HttpResponse | None:
    value = request.GET.get(VIEW, "")
    is_alone = set(request.GET) == {VIEW}
    if not value or value in tabs or (whole_number(value) and not is_alone):
        return None
    views = [view for view in views_of(request, project) if view.page == page]
    found = next((view for view in views if value in (str(view.pk), view.slug)), None)
    if found is None:
        return None
    if is_alone:
        return redirect(found.url)
    whole = request.GET.copy()
    whole.setlist(VIEW, [*whole.getlist(VIEW)[:-1], str(found.pk)])
    whole.setdefault(WORDS, "")
    return redirect(f"{links.page_of_view(page, project.slug)}?{whole.urlencode()}")


def _tab(view: View, address: ListAddress, shown: Content, count: Callable[[ListAddress], str] | None) -> Tab:
    is_current = address.saved == str(view.pk)
    kept = type(address).parse(_parameters(view)) if is_current or count else None
    return Tab(
        view,
        is_current,
        is_edited=is_current and kept is not None and kept.content != shown,
        count=count(kept) if count and kept else "",
    )


def _is_filtered(address: ListAddress) -> bool:
    """Return whether anything but the time range narrows the list."""
    return not set(address.plain.pairs()) <= RANGE


def _parameters(view: View) -> QueryDict:
    return parameters(view.page, view.query, view.sort, view.columns)
