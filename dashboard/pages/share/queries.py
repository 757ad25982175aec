"""The record that a link shows, and the links of a record and of a project."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import QueryDict
from django.urls import reverse

from dashboard.pages.share.params import query_of
from dashboard.shared.saved_views.queries import view_of
from dashboard.web import links
from recorder.access.share_links import Kind, Target, valid
from recorder.models import (
    EventRecord,
    LoopRecord,
    ParallelGroupRecord,
    Project,
    SavedView,
    Session,
    ShareLink,
)

LISTS = ("sessions", "evaluations")  # pages whose views can be shared
SHOWN = 200  # links of a project that the list shows


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a link: its name, its page, and whether it can be frozen as of its newest event."""

    title: str
    url: str
    newest: int | None = None
    query: str = ""  # of a view: what its link shows from now on


@dataclass(frozen=True, slots=True)
class LinkRow:
    """One link in a list."""

    pk: int
    kind: str
    title: str
    url: str  # of the record's page
    dialog: str  # URL of the links of the record
    maker: str
    is_mine: bool
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    openings: int
    opened_at: datetime | None
    has_password: bool
    is_masked: bool
    has_notes: bool
    is_frozen: bool
    is_over: bool
    may_revoke: bool


def record_of(project: Project, user: User, target: Target) -> Record | None:
    """Return the record if it exists in the project and `user` may see it. Three queries at most."""
    match target.kind:
        case "session":
            return _session(project, target.pk)
        case "evaluation":
            groups = ParallelGroupRecord.objects.filter(pk=target.pk, session__project=project)
            url = links.evaluation(project.slug, target.pk)
            return Record(f"Evaluation {target.pk}", url) if groups.exists() else None
        case "view":
            visible = Q(visibility="project") | Q(owner=user)
            views = SavedView.objects.filter(visible, pk=target.pk, project=project, page__in=LISTS)
            view = views.select_related("owner").first()
            return _view(project, view) if view else None
    return _comparison(project, target)


def _session(project: Project, pk: int) -> Record | None:
    session = Session.objects.filter(pk=pk, project=project).only("title", "session_id", "pruned_on").first()
    if session is None:
        return None
    newest = None
    if session.pruned_on is None:
        events = EventRecord.objects.filter(session=pk).order_by("-journal")
        newest = events.values_list("pk", flat=True).first()
    return Record(session.title or session.session_id, links.session(project.slug, pk), newest)


def _view(project: Project, view: SavedView) -> Record:
    url = view_of(project.slug, view).url
    query = QueryDict(url.partition("?")[2], mutable=True)
    query.pop("view", None)
    return Record(view.name, url, query=f"{view.page}?{query.urlencode()}")


def _comparison(project: Project, target: Target) -> Record | None:
    of = [int(pk) for pk in QueryDict(target.query).getlist("of")]
    if target.pk:
        count = LoopRecord.objects.filter(pk__in=of, session=target.pk, session__project=project).count()
        url, what = reverse("loops-compare", args=[project.slug, target.pk]), "loops"
    else:
        count = Session.objects.filter(pk__in=of, project=project).count()
        url, what = reverse("sessions-compare", args=[project.slug]), "sessions"
    return Record(f"{len(of)} {what} compared", f"{url}?{target.query}") if count == len(of) else None


def is_loop_of(session: int, loop: int) -> bool:
    """Whether a loop is of a session. One query."""
    return LoopRecord.objects.filter(pk=loop, session=session).exists()


def is_event_of(session: int, event: int) -> bool:
    """Whether an event is of a session. One query."""
    return EventRecord.objects.filter(pk=event, session=session).exists()


def link_of(project: Project, pk: int) -> ShareLink | None:
    """Return a link of the project. One query."""
    return ShareLink.objects.filter(pk=pk, project=project).first()


def links_of(project: Project, user: User, target: Target, *, is_admin: bool) -> Sequence[LinkRow]:
    """Return the links of a record that work, newest first. Two queries."""
    same: dict[str, str | int] = {"kind": target.kind, "target": target.pk}
    if target.kind == "comparison":
        same["query"] = target.query
    share_links = valid().filter(project=project, **same).select_related("created_by").order_by("-pk")
    return [_row(link, project, user, {}, is_admin=is_admin) for link in share_links[:SHOWN]]


def links_of_project(project: Project, user: User) -> Sequence[LinkRow]:
    """Return all links of a project for its admins, newest first; also those that ended. Four queries."""
    share_links = list(
        ShareLink.objects.filter(project=project).select_related("created_by").order_by("-pk")[:SHOWN]
    )
    working = set(valid().filter(project=project).values_list("pk", flat=True))
    titles = _titles(share_links)
    return [
        _row(link, project, user, titles, is_admin=True, works=link.pk in working) for link in share_links
    ]


def target_of_link(link: ShareLink) -> Target:
    """Return the record of a link."""
    return Target(cast("Kind", link.kind), link.target, link.query)


def _titles(share_links: Collection[ShareLink]) -> Mapping[tuple[str, int], str]:
    sessions = [link.target for link in share_links if link.kind == "session"]
    views = [link.target for link in share_links if link.kind == "view"]
    names = Session.objects.filter(pk__in=sessions).values_list("pk", "title", "session_id")
    titles = {("session", pk): title or session_id for pk, title, session_id in names}
    named = SavedView.objects.filter(pk__in=views).values_list("pk", "name")
    return titles | {("view", pk): name for pk, name in named}


def _row(
    link: ShareLink,
    project: Project,
    user: User,
    titles: Mapping[tuple[str, int], str],
    *,
    is_admin: bool,
    works: bool = True,
) -> LinkRow:
    kind = link.get_kind_display()
    dialog = reverse("share-record", args=[project.slug, link.kind])
    return LinkRow(
        pk=link.pk,
        kind=kind,
        title=titles.get((link.kind, link.target), f"{kind} {link.target or ''}".rstrip()),
        url=_page_of(link, project),
        dialog=f"{dialog}?{query_of(target_of_link(link))}",
        maker=link.created_by.get_username(),
        is_mine=link.created_by_id == user.pk,
        created_at=link.created_at,
        expires_at=link.expires_at,
        revoked_at=link.revoked_at,
        openings=link.openings,
        opened_at=link.opened_at,
        has_password=bool(link.password),
        is_masked=link.is_masked,
        has_notes=link.has_notes,
        is_frozen=link.event is not None,
        is_over=not works,
        may_revoke=works and (is_admin or link.created_by_id == user.pk),
    )


def _page_of(link: ShareLink, project: Project) -> str:
    match link.kind:
        case "session":
            return links.session(project.slug, link.target)
        case "evaluation":
            return links.evaluation(project.slug, link.target)
        case "view":
            return reverse("views", args=[project.slug])
    of_loops = link.target != 0
    args = [project.slug, link.target] if of_loops else [project.slug]
    return f"{reverse('loops-compare' if of_loops else 'sessions-compare', args=args)}?{link.query}"
