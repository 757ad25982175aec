"""Numbers of hits: of each kind, and newer than those of a page. They read at most `MOST` documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from dashboard.live.paged_list import Count, count
from dashboard.live.paged_list import newest as newest_row
from dashboard.pages.search_text.params import SearchParams
from dashboard.query_language.words import positive_words
from dashboard.shared.search.sessions import phrase_of
from recorder.models import Session
from recorder.search import queries
from recorder.search.documents import NAMES, NUMBERS
from recorder.search.match import Match
from recorder.search.queries import TOP, Found

MOST = 1_000  # documents that are counted


def newest(project: int, params: SearchParams) -> int:
    """Return the newest document with the words of a query; without words, the newest session."""
    match = _match(params)
    if match is None:
        return newest_row(Session.objects.filter(project=project))
    return queries.newest(project, match, TOP, 1).last or 0 if queries.is_searchable(project) else 0


def newer(project: int, params: SearchParams, now: datetime, user: int, after: int) -> Count:
    """Return the number of hits newer than a document; without words, of sessions newer than a session."""
    match = _match(params)
    if match is None:
        condition = params.parsed.on_indexed(project, now, user)
        return count(Session.objects.filter(condition, project=project, pk__gt=after), MOST)
    found, is_part = _documents(project, match, after)
    return Count(MOST + 1 if is_part else len(_hits(project, params, now, user, found)), MOST)


def by_kind(project: int, params: SearchParams, now: datetime, user: int) -> tuple[Mapping[str, int], bool]:
    """Return the number of hits of each kind, and whether older ones are not counted; none without words."""
    match = _match(params.but(kind=()))
    if match is None:
        return {}, False
    found, is_part = _documents(project, match)
    kinds = Counter(NAMES[hit.kind] for hit in _hits(project, params, now, user, found))
    return {kind: kinds[kind] for kind in NUMBERS}, is_part


def _match(params: SearchParams) -> Match | None:
    phrases = (phrase_of(words) for words in positive_words(params.parsed.node))
    wanted = tuple(dict.fromkeys(phrase for phrase in phrases if phrase is not None))
    return Match(wanted, tuple(sorted(NUMBERS[kind] for kind in params.kind))) if wanted else None


def _documents(project: int, match: Match, after: int = 0) -> tuple[Sequence[Found], bool]:
    """Return the newest documents that match, `MOST` at most, and whether there are more."""
    if not queries.is_searchable(project):
        return [], False
    found = [hit for hit in queries.newest(project, match, TOP, MOST + 1).found if hit.pk > after]
    return found[:MOST], len(found) > MOST


def _hits(
    project: int, params: SearchParams, now: datetime, user: int, found: Sequence[Found]
) -> Collection[Found]:
    """Return the documents whose session satisfies the query, one of each text."""
    sessions = Session.objects.filter(pk__in={hit.session for hit in found}, project=project)
    condition = params.parsed.on_indexed(project, now, user)
    allowed = set(sessions.filter(condition).values_list("pk", flat=True)) if found else set()
    return {(hit.event, hit.kind, hit.text): hit for hit in found if hit.session in allowed}.values()
