"""The views of a project as the page shows them: by list page, each with what its visitor may do. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard.shared.saved_views.queries import View
from dashboard.shared.saved_views.rights import Rights
from dashboard.web import links
from recorder.models import SavedView


@dataclass(frozen=True, slots=True)
class Refused:
    """A new name that was refused."""

    pk: int = 0
    name: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One view."""

    view: View
    can_edit: bool
    is_first: bool  # of those that the same people see
    is_last: bool
    name: str  # in the field
    error: str


@dataclass(frozen=True, slots=True)
class Group:
    """The views of one page."""

    page: str
    title: str
    url: str
    entries: Sequence[Entry]


def groups(slug: str, views: Sequence[View], rights: Rights, refused: Refused) -> list[Group]:
    """Return the views in the order of the pages, then in their own."""
    found = []
    for page in SavedView.Page:
        entries = [
            entry
            for _, beside in groupby((each for each in views if each.page == page), lambda each: each.is_mine)
            for entry in _entries(list(beside), rights, refused)
        ]
        if entries:
            found.append(Group(page.value, page.label, links.page_of_view(page.value, slug), entries))
    return found


def _entries(views: Sequence[View], rights: Rights, refused: Refused) -> list[Entry]:
    return [
        Entry(
            view,
            can_edit=rights.may_edit(view.visibility, view.owner_pk),
            is_first=at == 0,
            is_last=at == len(views) - 1,
            name=refused.name if refused.pk == view.pk else view.name,
            error=refused.error if refused.pk == view.pk else "",
        )
        for at, view in enumerate(views)
    ]
