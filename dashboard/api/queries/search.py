"""The search endpoint: sessions with the places where the words of a query occur."""

from __future__ import annotations

from django.utils import timezone

from dashboard.api import schemas
from dashboard.api.params import OfSearch
from dashboard.query_conditions.conditions import search_condition
from dashboard.query_language import parse
from dashboard.security.access import Reader
from dashboard.shared.search.queries.find import SessionHits, find
from dashboard.shared.search.queries.hits import Hit, hits
from dashboard.web import links
from recorder.models import Project, Session
from recorder.search.documents import NUMBERS
from recorder.search.state import lag


def search(reader: Reader, params: OfSearch) -> schemas.SearchResults:
    """Return a page of search results. Raises QueryError."""
    project, now = reader.project, timezone.now()
    node = parse(params.q)
    page = find(
        project.pk,
        node,
        lambda part: search_condition(project.pk, part, now, reader.user),
        kinds=[NUMBERS[kind] for kind in params.kind],
        sort=params.sort,
        cursor=params.cursor,
        limit=params.limit,
    )
    shown = hits(project.pk, node, (hit for item in page.items for hit in item.hits))
    rows = Session.objects.filter(project=project, pk__in=[item.session for item in page.items])
    sessions = {row.pk: row for row in rows.only("session_id", "title", "last_event_at")}
    behind = lag(project.pk, now)
    return schemas.SearchResults(
        items=[
            _item(project, sessions[item.session], item, [shown[hit.pk] for hit in item.hits])
            for item in page.items
            if item.session in sessions
        ],
        next=page.next,
        total=page.total,
        index=schemas.IndexLag(lag_s=round(behind.seconds, 3), events=behind.events),
    )


def _item(project: Project, session: Session, item: SessionHits, shown: list[Hit]) -> schemas.SearchItem:
    return schemas.SearchItem(
        session_id=session.session_id,
        title=session.title,
        url=links.session(project.slug, session.pk),
        at=(shown[0].at if shown else None) or session.last_event_at,
        hits=[
            schemas.SearchHit(
                kind=hit.kind,  # type: ignore[arg-type]  # the names of the kinds
                loop=hit.loop,
                turn=hit.turn,
                event=hit.event,
                at=hit.at,
                snippet=hit.snippet,
                ranges=list(hit.ranges),
            )
            for hit in shown
        ],
        more=item.more,
    )
