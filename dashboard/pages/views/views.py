"""Views of the page of saved views. Its forms are also those of the bar above each list."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.views.groups import Refused, groups
from dashboard.query_language import QueryError
from dashboard.security.access import member, require
from dashboard.security.actor import actor_of
from dashboard.shared.saved_views import queries
from dashboard.shared.saved_views.bar import views_of
from dashboard.shared.saved_views.check import Unreadable, check
from dashboard.shared.saved_views.rights import Rights, refusal, rights
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.lists.address import content, parameters
from recorder.access import saved_views as store
from recorder.access.rights import Right
from recorder.access.saved_views import Content
from recorder.models import Project, SavedView
from recorder.operations.audited import saved_views as audited

QUERY_MAX, COLUMNS_MAX, SORT_MAX = 8_000, 50, 60
TAKEN = "There is another view with this name on the page. Choose another name."
EMPTY = "Enter a name."


@dataclass(frozen=True, slots=True)
class Sent:
    """The fields of the form of a new view, as the bar sends them."""

    page: str
    content: Content

    @property
    def columns(self) -> str:
        return ",".join(self.content.columns)


@require_safe
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the views of the project that the person sees."""
    return _page(request, project)


@require_POST
@member
def save_as(request: HttpRequest, project: Project) -> HttpResponse:
    """Save a new view and open it, or show the form with its error."""
    user = require(request, project, Right.WRITE_OWN_VIEWS)
    held, sent = rights(user, project), _sent_view(request)
    visibility = request.POST.get("visibility", "me")
    if sent is None or visibility not in SavedView.Visibility.values:
        return refused(request, "This view cannot be saved.")
    if visibility == SavedView.Visibility.PROJECT and not held.may_share:
        raise PermissionDenied
    name, error = _name(request), EMPTY
    if name:
        try:
            row = audited.create(project, user, sent.page, name, visibility, sent.content, actor_of(request))
            return redirect(queries.view_of(project.slug, row).url)
        except store.DuplicateName:
            error = TAKEN
        except store.TooMany:
            error = "There are too many views. Delete some first."
    shown = {
        "project": project,
        "page": sent.page,
        "bar": sent,
        "rights": held,
        "name": name,
        "visibility": visibility,
        "error": error,
        "back": _back(project.slug, sent),
    }
    return render(request, "views/form.html", shown, status=HTTPStatus.CONFLICT)


@require_POST
@member
def save(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Keep the list as it is shown under an edited view."""
    row, sent = _editable(request, project, pk), _sent_view(request)
    if sent is None or sent.page != row.page:
        return refused(request, "This view cannot be saved.")
    audited.change(row, actor_of(request), content=sent.content)
    return redirect(queries.view_of(project.slug, row).url)


@require_POST
@member
def rename(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Change the name of a view, and who sees it."""
    row, name = _editable(request, project, pk), _name(request)
    visibility = request.POST.get("visibility", row.visibility)
    if visibility not in SavedView.Visibility.values:
        return refused(request, "Select who sees the view.")
    if visibility != row.visibility:
        require(request, project, Right.WRITE_SHARED_VIEWS)
    if not name:
        return _page(request, project, Refused(pk, "", EMPTY))
    try:
        audited.change(row, actor_of(request), name=name, visibility=visibility)
    except store.DuplicateName:
        return _page(request, project, Refused(pk, name, TAKEN))
    return _to_page(project, row.page)


@require_POST
@member
def move(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Move a view up or down."""
    row = _editable(request, project, pk)
    audited.move(row, "up" if request.POST.get("to") == "up" else "down", actor_of(request))
    return _to_page(project, row.page)


@require_POST
@member
def make_default(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Make a view the person's default of its page, or no longer."""
    user = require(request, project, Right.READ)
    row = _visible(request, project, pk)
    store.make_default(user, row, is_default=request.POST.get("default") == "1")
    return _to_page(project, row.page)


@require_POST
@member
def delete(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Delete a view."""
    row = _editable(request, project, pk)
    audited.delete(row, actor_of(request))
    return _to_page(project, row.page)


def _page(request: HttpRequest, project: Project, error: Refused | None = None) -> HttpResponse:
    held = rights(request.user, project)
    shown = {
        "project": project,
        "page": "views",
        "groups": groups(project.slug, views_of(request, project), held, error or Refused()),
        "rights": held,
        "ws_url": links.live(project.slug, "views"),
    }
    return render(request, "views/index.html", shown, status=HTTPStatus.CONFLICT if error else HTTPStatus.OK)


def _to_page(project: Project, page: str) -> HttpResponse:
    return redirect(f"{reverse('views', args=[project.slug])}#{page}")


def _back(slug: str, sent: Sent) -> str:
    kept = parameters(sent.page, sent.content.query, sent.content.sort, sent.content.columns)
    return f"{links.page_of_view(sent.page, slug)}?{kept.urlencode()}"


def _visible(request: HttpRequest, project: Project, pk: int) -> SavedView:
    row = queries.one(project, request.user, pk)
    if row is None:
        raise Http404
    return row


def _editable(request: HttpRequest, project: Project, pk: int) -> SavedView:
    row = _visible(request, project, pk)
    held: Rights = rights(request.user, project)
    if not held.may_edit(row.visibility, row.owner_id):
        raise refusal(project)
    return row


def _name(request: HttpRequest) -> str:
    """Return the submitted name as one printable line of limited length."""
    text = "".join(char if char.isprintable() else " " for char in request.POST.get("name", ""))
    return " ".join(text.split())[: store.NAME_MAX]


def _sent_view(request: HttpRequest) -> Sent | None:
    """Return the submitted view; None if it is none that a page has sent."""
    sent = request.POST
    page, query, sort = sent.get("page", ""), sent.get("query", ""), sent.get("sort", "")
    columns = [name for name in sent.get("columns", "").split(",") if name]
    is_valid = (
        page in SavedView.Page.values
        and "\0" not in f"{query}{sort}{columns}"
        and len(query) <= QUERY_MAX
        and len(sort) <= SORT_MAX
        and len(columns) <= COLUMNS_MAX
    )
    if not is_valid:
        return None
    kept = content(page, query, sort, columns)
    try:
        check(page, kept)
    except (QueryError, Unreadable):
        return None
    return Sent(page, kept)
