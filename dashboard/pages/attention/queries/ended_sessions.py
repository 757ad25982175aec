"""Sessions of a project that failed lately, with each user's read markers, and that finished lately."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from dashboard.live.paged_list import Count, count
from dashboard.pages.attention.params import AttentionParams, Place
from dashboard.pages.attention.queries.filters import selected
from dashboard.shared.queries import attention
from dashboard.web import links
from dashboard.web.keyset import Cursor
from recorder.models import Project, Session

PAGE = 20
FINISHED_MAX = 8
MARKED_MAX = 5_000  # failures marked by one request
COUNT_MAX = 1_000
COLUMNS = ("title", "session_id", "agent_id", "outcome", "activity", "last_event_at", "ended_at", "head_id")


@dataclass(frozen=True, slots=True)
class Ended:
    """One session that ended."""

    pk: int
    url: str
    title: str
    agent: str
    state: str
    words: str
    at: datetime
    has_seen: bool = True


@dataclass(frozen=True, slots=True)
class Failures:
    """A page of failed sessions, unread first; root of the panel attention/failed."""

    rows: Sequence[Ended]
    total: Count
    unseen: Count
    more: AttentionParams | None  # the next page, None on the last one
    first_url: str
    newest: Cursor | None  # of all failures: "mark all" leaves later ones unread
    seen_url: str

    @property
    def more_url(self) -> str:
        return self.more.query if self.more else ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The sessions that finished last; root of the panel attention/finished."""

    rows: Sequence[Ended]


@dataclass(frozen=True, slots=True)
class FailuresOf:
    """Query of the panel attention/failed of one project; its keys are users."""

    project: int
    params: AttentionParams

    def __call__(self, users: Collection[int]) -> Mapping[int, Failures]:
        """Return the page of each user. Five queries per user."""
        slug = Project.objects.values_list("slug", flat=True).get(pk=self.project)
        return {user: _failures(self.project, slug, user, self.params) for user in users}


def _failures(project: int, slug: str, user: int, params: AttentionParams) -> Failures:
    failed, after = _of_filters(project, attention.failed(project, timezone.now()), params), params.failed
    rows = failed.annotate(has_seen=attention.is_read_by(user)).only(*COLUMNS)
    if after is not None:
        rows = rows.filter(_after(after))
    found = [(each, each.has_seen) for each in rows.order_by("has_seen", "-last_event_at", "-pk")[: PAGE + 1]]
    shown = found[:PAGE]
    more = _end(shown) if len(found) > PAGE else None
    newest = failed.order_by("-last_event_at").values_list("last_event_at", "pk").first()
    return Failures(
        [_ended_session(slug, session, has_seen=has_seen) for session, has_seen in shown],
        total=count(failed, COUNT_MAX),
        unseen=count(failed.filter(~attention.is_read_by(user)), COUNT_MAX),
        more=params.but(failed=more) if more else None,
        first_url=params.but().query,
        newest=Cursor(*newest) if newest else None,
        seen_url=links.mark_failures_read(slug),
    )


@dataclass(frozen=True, slots=True)
class FinishedOf:
    """Query of the panel attention/finished with these filters."""

    params: AttentionParams

    def __call__(self, projects: Collection[int]) -> Mapping[int, Finished]:
        """Return the sessions that finished lately. Two queries for one project."""
        now = timezone.now()
        slugs = Project.objects.filter(pk__in=projects).values_list("pk", "slug")
        return {pk: Finished(_finished_sessions(pk, slug, self.params, now)) for pk, slug in slugs}


def failed_loops(project: int, user: int, params: AttentionParams, *, upto: Cursor) -> Sequence[int]:
    """Return the failed loops of the filters, up to a time, that are unread by the user. One query."""
    return _unseen(project, user, Q(last_event_at__lte=upto.at), params)


def failed_loop(project: int, user: int, session: int) -> Sequence[int]:
    """Return the failed loop of a session unless the user has read it. One query."""
    return _unseen(project, user, Q(pk=session), AttentionParams())


def _unseen(project: int, user: int, which: Q, params: AttentionParams) -> Sequence[int]:
    failed = _of_filters(project, attention.failed(project, timezone.now()), params)
    failed = failed.filter(which, ~attention.is_read_by(user))
    return list(failed.order_by("-last_event_at").values_list("head_id", flat=True)[:MARKED_MAX])


def _finished_sessions(project: int, slug: str, params: AttentionParams, now: datetime) -> Sequence[Ended]:
    rows = _of_filters(project, attention.ended(project, attention.FINISHED, now), params)
    latest = rows.order_by("-last_event_at", "-pk").only(*COLUMNS)
    return [_ended_session(slug, each) for each in latest[:FINISHED_MAX]]


def _of_filters(project: int, sessions: QuerySet[Session], params: AttentionParams) -> QuerySet[Session]:
    return sessions.filter(pk__in=selected(project, params)) if params.has_sessions else sessions


def _after(place: Place) -> Q:
    at, pk = place.cursor.at, place.cursor.pk
    later = Q(last_event_at__lt=at) | Q(last_event_at=at, pk__lt=pk)
    return Q(has_seen=place.has_seen) & later | (Q() if place.has_seen else Q(has_seen=True))


def _end(shown: Sequence[tuple[Session, bool]]) -> Place:
    session, has_seen = shown[-1]
    return Place(has_seen, Cursor(session.last_event_at, session.pk))


def _ended_session(slug: str, session: Session, *, has_seen: bool = True) -> Ended:
    head = session.head_id
    return Ended(
        pk=session.pk,
        url=links.loop(slug, session.pk, head) if head else links.session(slug, session.pk),
        title=session.title or session.session_id,
        agent=session.agent_id,
        state=session.outcome,
        words=session.activity,
        at=session.ended_at or session.last_event_at,
        has_seen=has_seen,
    )
