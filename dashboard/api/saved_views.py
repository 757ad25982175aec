"""Endpoints of saved views. Signed-in people write them, with a CSRF token; tokens read the project's."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Path, Query, Router, Status
from ninja.errors import HttpError
from ninja.utils import check_csrf
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from dashboard.api.auth import project_of, refuse_archived
from dashboard.api.params import ID_MAX, ById
from dashboard.api.queries.list_endpoint import by_id
from dashboard.api.schemas import ResultPage
from dashboard.security.access import Reader
from dashboard.security.actor import actor_of
from dashboard.shared.saved_views import queries
from dashboard.shared.saved_views.check import Unreadable, check
from dashboard.shared.saved_views.rights import Rights, rights
from dashboard.web.lists.address import content
from recorder.access import saved_views as store
from recorder.access.saved_views import Content
from recorder.models import SavedView
from recorder.operations.audited import saved_views as audited

QUERY_MAX, COLUMNS_MAX = 8_000, 50
router = Router()
Key = Annotated[int, Field(ge=0, le=ID_MAX)]
Visibility = Literal["me", "project"]


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains a NUL character")
    return text


def _name(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return " ".join(_storable(text).split())


Text = Annotated[str, AfterValidator(_storable)]
Name = Annotated[str, Field(max_length=store.NAME_MAX), AfterValidator(_name)]
QueryText = Annotated[Text, Field(max_length=QUERY_MAX)]
Sort = Annotated[Text, Field(max_length=60)]
Columns = Annotated[list[Annotated[Text, Field(max_length=60)]], Field(max_length=COLUMNS_MAX)]


class ViewItem(BaseModel):
    """A saved view; `query` is the page's query string, or a query of the search field."""

    id: int
    name: str
    page: str
    query: str
    sort: str
    columns: list[str]
    visibility: Visibility
    owner: str
    url: str
    can_edit: bool


class Views(ResultPage):
    items: list[ViewItem]


class OfViews(ById):
    page: SavedView.Page | None = None


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewView(_Body):
    """A view to save."""

    name: Name
    page: SavedView.Page
    query: QueryText = ""
    sort: Sort = ""
    columns: Columns = []
    visibility: Visibility = "me"


class ChangedView(_Body):
    """The changes of a view; a field that is not sent stays."""

    name: Name | None = None
    query: QueryText | None = None
    sort: Sort | None = None
    columns: Columns | None = None
    visibility: Visibility | None = None


@router.get("/views", response=Views)
def views(request: HttpRequest, params: Query[OfViews]) -> dict[str, Any]:
    """List the saved views of the person and of the project, in the order of their creation."""
    project, user = project_of(request), _reader(request).user
    rows = queries.rows(project, user)
    if params.page is not None:
        rows = rows.filter(page=params.page)
    page, held = by_id(rows, params), rights(user, project)
    items = [_item(project.slug, row, held) for row in page.rows]
    return {"items": items, "next": page.next, "total": page.total}


@router.post("/views", response={201: ViewItem})
def save(request: HttpRequest, view: NewView) -> Status[ViewItem]:
    """Save a view. One of the project takes an admin."""
    project, held, user = project_of(request), _rights_to_write(request), _user(request)
    _check_sharing(held, view.visibility)
    kept = _checked_content(view.page, content(view.page, view.query, view.sort, view.columns))
    try:
        row = audited.create(project, user, view.page, view.name, view.visibility, kept, actor_of(request))
    except store.DuplicateName:
        raise _name_conflict(view.name) from None
    except store.TooMany:
        raise HttpError(409, "There are too many views; delete some.") from None
    return Status(201, _item(project.slug, row, held))


@router.patch("/views/{pk}", response=ViewItem)
def change(request: HttpRequest, pk: Path[Key], view: ChangedView) -> ViewItem:
    """Change a view: its owner or an admin."""
    project, held = project_of(request), _rights_to_write(request)
    row = _editable(request, held, pk)
    if view.visibility is not None and view.visibility != row.visibility:
        _check_sharing(held, view.visibility)
    try:
        audited.change(
            row,
            actor_of(request),
            name=view.name,
            visibility=view.visibility,
            content=_changed_content(row, view),
        )
    except store.DuplicateName:
        raise _name_conflict(view.name or row.name) from None
    return _item(project.slug, row, held)


@router.delete("/views/{pk}", response={204: None})
def delete(request: HttpRequest, pk: Path[Key]) -> HttpResponse:
    """Delete a view: its owner or an admin."""
    audited.delete(_editable(request, _rights_to_write(request), pk), actor_of(request))
    return HttpResponse(status=204)


def _reader(request: HttpRequest) -> Reader:
    return cast("Reader", request.auth)  # type: ignore[attr-defined]  # set by django-ninja


def _user(request: HttpRequest) -> User:
    return cast("User", _reader(request).user)


def _rights_to_write(request: HttpRequest) -> Rights:
    reader = _reader(request)
    if reader.user is None:
        raise HttpError(403, "A token reads views; people who are signed in save them.")
    if check_csrf(request) is not None:
        raise HttpError(403, "The CSRF token is missing or wrong: send it as X-CSRFToken.")
    refuse_archived(reader.project)
    return rights(reader.user, reader.project)


def _editable(request: HttpRequest, held: Rights, pk: int) -> SavedView:
    row = queries.one(project_of(request), _reader(request).user, pk)
    if row is None:
        raise Http404
    if not held.may_edit(row.visibility, row.owner_id):
        raise HttpError(403, "The view is edited by its owner and by admins.")
    return row


def _check_sharing(held: Rights, visibility: str) -> None:
    if not held.may_save:
        raise HttpError(403, "Saving a view takes the role member.")
    if visibility == "project" and not held.may_share:
        raise HttpError(403, "Saving a view of the project takes the role admin.")


def _changed_content(row: SavedView, view: ChangedView) -> Content | None:
    """Return what a view keeps after a change; None if that stays. Raises QueryError or HttpError."""
    if view.query is None and view.sort is None and view.columns is None:
        return None
    kept = content(
        row.page,
        row.query if view.query is None else view.query,
        row.sort if view.sort is None else view.sort,
        row.columns if view.columns is None else view.columns,
    )
    return _checked_content(row.page, kept)


def _checked_content(page: str, kept: Content) -> Content:
    try:
        check(page, kept)
    except Unreadable as error:
        raise HttpError(400, str(error)) from None
    return kept


def _name_conflict(name: str) -> HttpError:
    return HttpError(409, f"There is another view called “{name}” on this page.")


def _item(slug: str, row: SavedView, held: Rights) -> ViewItem:
    view = queries.view_of(slug, row)
    return ViewItem(
        id=view.pk,
        name=view.name,
        page=view.page,
        query=view.query,
        sort=view.sort,
        columns=list(view.columns),
        visibility=cast("Visibility", view.visibility),
        owner=view.owner,
        url=view.url,
        can_edit=held.may_edit(view.visibility, view.owner_pk),
    )
