"""All hits of a query for a download: those that the pages show, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from dashboard.pages.search_text.params import SearchParams
from dashboard.pages.search_text.queries.results import page_of
from dashboard.shared.search.queries import hits as recorded_hits
from dashboard.shared.search.queries.find import SessionHits
from dashboard.web import links
from dashboard.web.lists.download import Value
from recorder.models import Project, Session

HEADER = (
    *("session_id", "title", "agent_id", "last_active_at", "kind", "at", "snippet"),
    *("loop", "turn", "event", "more_hits", "url"),
)
NO_HIT: list[recorded_hits.Hit | None] = [None]


def chunks(
    project: Project, params: SearchParams, now: datetime, user: int
) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield the hits of a query, a page of sessions at a time; a session without hits is one row."""
    at = params.but()
    while params.parsed.node is not None:
        page = page_of(project.pk, at, now, user)
        yield _rows(project, at, page.items)
        if not page.next:
            return
        at = replace(at, cursor=int(page.next))


def _rows(project: Project, params: SearchParams, items: Sequence[SessionHits]) -> list[Sequence[Value]]:
    shown = recorded_hits.hits(project.pk, params.parsed.node, (hit for item in items for hit in item.hits))
    rows = Session.objects.filter(project=project, pk__in=[item.session for item in items])
    sessions = {row.pk: row for row in rows.only("session_id", "title", "agent_id", "last_event_at")}
    return [
        _values(project, sessions[item.session], item, hit)
        for item in items
        if item.session in sessions  # the session may have been deleted since
        for hit in ([shown[found.pk] for found in item.hits] or NO_HIT)
    ]


def _values(
    project: Project, session: Session, item: SessionHits, hit: recorded_hits.Hit | None
) -> Sequence[Value]:
    url = links.session(project.slug, session.pk)
    of_session = (session.session_id, session.title, session.agent_id, session.last_event_at)
    if hit is None:
        return (*of_session, None, None, None, None, None, None, item.more, url)
    url = links.loop(project.slug, session.pk, hit.loop) if hit.loop is not None else url
    return (*of_session, hit.kind, hit.at, hit.snippet, hit.loop, hit.turn, hit.event, item.more, url)
