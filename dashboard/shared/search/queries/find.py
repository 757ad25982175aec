"""Finds the sessions of a query, and in each the places where its words occur.

Newest first, documents are read from the newest on, until a page of sessions is full; each session must also
satisfy the whole query. Of words that must all be there, the documents with the rarest are read. Where few
sessions satisfy the conditions beside the words, those are read instead. "Best match" ranks a bounded number
of the newest documents. Where a session without any of the words may satisfy the query (`word OR key:value`),
the sessions are read by their last activity, and have hits where there are any.

Every read is bounded: a page may come with fewer sessions than asked for and a cursor to go on from, when the
words are common and the sessions that satisfy the query are rare among them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from django.db.models import Q

from dashboard.query_language.nodes import And, Node, Or, Words
from dashboard.query_language.words import positive_words, without_words
from dashboard.shared.search.sessions import phrase_of, searchable
from recorder.core.search.tokens import Phrase
from recorder.models import Session
from recorder.search import queries
from recorder.search.match import Match
from recorder.search.queries import TOP, Found, OfSession

Sort = Literal["newest", "best"]

HITS = 3  # shown of a session
COUNTED = 1_000  # hits of a session are counted up to here
CHECKED = 500  # sessions are counted among, if each must be checked
RANKED = 2_000  # newest documents that "best match" ranks
FEW = 60  # sessions that are read instead of the newest documents
EXCLUDED = 8  # sessions that the index passes over, of those read last; each costs every document
_BATCHES = (200, 500, 2_000, 5_000, 5_000, 5_000, 5_000)  # documents read for a page
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS, _SAME_SECOND = 2**34, 2**28  # parts of a cursor by activity: 62 bits


@dataclass(frozen=True, slots=True)
class SessionHits:
    """A session found: its best or newest documents, and how many more it has, counted to `COUNTED`."""

    session: int
    hits: tuple[Found, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class FoundSessions:
    """Sessions found. `total` is None where counting them would take too long."""

    items: tuple[SessionHits, ...]
    next: str | None
    total: int | None


def find(
    project: int,
    node: Node | None,
    condition: Callable[[Node | None], Q],
    *,
    kinds: Collection[int] = (),
    sort: Sort = "newest",
    cursor: int = 0,
    limit: int = 50,
) -> FoundSessions:
    """Return a page of the sessions that satisfy a query; `cursor` is the `next` of the page before, or 0.

    `condition` returns a query as a condition on `Session`. With `kinds`, only documents of these are hits,
    and each session has one; any text of the kinds is a hit of a query without words.
    """
    phrases = _phrases(node)
    match = Match(phrases, tuple(sorted(kinds)))
    rarest = _rarest(project, node) if phrases and queries.is_searchable(project) else None
    if rarest is None:
        allowed = condition(node)
        if kinds:
            allowed &= _of_kinds(project, match, condition(_besides_words(node)))
        return _by_activity(project, match, allowed, cursor, limit)
    search = _Search(
        project,
        match,
        match if rarest == phrases else Match(rarest),
        None if isinstance(node, Words) else condition(node),
        condition(plain) if (plain := without_words(node)) else None,
    )
    if sort == "best":
        return search.best(cursor, limit)
    return search.newest(cursor, limit)


def _by_activity(project: int, match: Match, condition: Q, cursor: int, limit: int) -> FoundSessions:
    """Return a page of sessions by their last activity, with hits where there are any."""
    sessions = Session.objects.filter(project=project).filter(condition)
    at, skipped = divmod(cursor, _SAME_SECOND)
    # The first and the last second include all times beyond, so that no session is left out.
    is_limited = cursor and at < _SECONDS - 1
    left = sessions.filter(last_event_at__lt=_EPOCH + timedelta(seconds=at + 1)) if is_limited else sessions
    ordered = left.order_by("-last_event_at", "-pk").values_list("pk", "last_event_at")
    times = [(pk, _second(time)) for pk, time in ordered[: skipped + limit + 1]]
    earlier = sum(second == at for _, second in times[:skipped])  # of the same second, on pages before
    shown = [pk for pk, _ in times[earlier : earlier + limit]]
    following = None
    if len(times) > earlier + limit:
        last = times[earlier + limit - 1][1]
        same = sum(second == last for _, second in times[: earlier + limit])
        following = str(last * _SAME_SECOND + same)
    # Conditions alone are counted by the indexes of sessions, words session by session.
    is_indexed = bool(match.phrases or match.kinds)
    total = sessions[: COUNTED + 1].count() if is_indexed else sessions.count()
    is_all = not is_indexed or total <= COUNTED
    return FoundSessions(_with_hits(project, match, shown), following, total if is_all else None)


def _second(time: datetime) -> int:
    return min(max(0, (time - _EPOCH) // timedelta(seconds=1)), _SECONDS - 1)


def _of_kinds(project: int, match: Match, besides_words: Q) -> Q:
    """Return the condition that a session has a hit of the kinds, or a text of them and needs no words."""
    matching = queries.having(project, Match((), match.kinds)) & besides_words
    return matching | queries.having(project, match) if match.phrases else matching


def _besides_words(node: Node | None) -> Node | None:
    """Return a query that is true where `node` is true without any of its words."""
    match node:
        case Words():
            return Or(())
        case And(nodes) | Or(nodes):
            return type(node)(tuple(part for part in map(_besides_words, searchable(nodes)) if part))
        case _:
            return node


def hits_of(project: int, node: Node | None, sessions: Sequence[int]) -> tuple[SessionHits, ...]:
    """Return sessions with their newest hits, in the same order."""
    return _with_hits(project, Match(_phrases(node)), sessions)


def _with_hits(project: int, match: Match, sessions: Sequence[int]) -> tuple[SessionHits, ...]:
    if not (match.phrases or match.kinds) or not queries.is_searchable(project):
        return tuple(map(SessionHits, sessions))
    search = _Search(project, match, match, None, None)
    return search._items(sessions, search._documents(sessions))  # noqa: SLF001  of this module


@dataclass(frozen=True, slots=True)
class _Search:
    """A search with words.

    `match` has all words: its documents are the hits. `rarest` finds the sessions. `condition` is None where
    every session with a hit satisfies the query, `plain` where the query is about words alone.
    """

    project: int
    match: Match
    rarest: Match
    condition: Q | None
    plain: Q | None

    def newest(self, cursor: int, limit: int) -> FoundSessions:
        """Return a page by the newest hit of each session; the cursor is the last one's."""
        few = self._few()
        if few is not None:
            return self._of_few(few, cursor, limit)
        return self._of_many(cursor, limit)

    def best(self, offset: int, limit: int) -> FoundSessions:
        """Return a page by the best hit of each session; the cursor is the number of sessions before."""
        is_common = queries.count(self.project, self.match, queries.COMMON + 1) > queries.COMMON
        read = self.rarest if is_common and not self.match.kinds else self.match
        ranked = {session.pk: session.score for session in queries.ranked(self.project, read, RANKED)}
        hits = sorted(queries.rows(self.project, list(ranked)), key=lambda hit: (-ranked[hit.pk], -hit.pk))
        by_session: dict[int, list[Found]] = {}
        for hit in hits:
            by_session.setdefault(hit.session, []).append(hit)
        allowed = self._satisfying(by_session)
        chosen = [pk for pk in by_session if pk in allowed]
        items = tuple(_hits(pk, by_session[pk]) for pk in chosen[offset : offset + limit])
        after = offset + limit
        is_all = len(ranked) < RANKED
        return FoundSessions(
            items, str(after) if after < len(chosen) else None, len(chosen) if is_all else None
        )

    def _few(self) -> list[int] | None:
        """Return the sessions that satisfy the query if few satisfy what it says beside words."""
        if self.plain is None:
            return None
        rows = Session.objects.filter(project=self.project).filter(self.plain).values_list("pk", flat=True)
        pks = list(rows[: FEW + 1])
        return sorted(self._satisfying(pks)) if len(pks) <= FEW else None

    def _of_few(self, sessions: Sequence[int], cursor: int, limit: int) -> FoundSessions:
        documents = self._documents(sessions)
        hit = sorted(documents, key=lambda pk: -documents[pk].newest[0])
        left = [pk for pk in hit if not cursor or documents[pk].newest[0] < cursor]
        shown = left[:limit]
        following = str(documents[shown[-1]].newest[0]) if len(left) > limit else None
        return FoundSessions(self._items(shown, documents), following, len(hit))

    def _of_many(self, cursor: int, limit: int) -> FoundSessions:
        below, chosen, seen = cursor or TOP, dict[int, int](), dict[int, None]()
        is_full = is_end = False
        # Each query with a prefix reads all documents that have such a word.
        has_prefix = any(phrase.is_prefix for phrase in self.rarest.phrases)
        for size in _BATCHES[3:] if has_prefix else _BATCHES:
            passed = tuple(seen)[-EXCLUDED:]
            batch = queries.newest_sessions(self.project, replace(self.rarest, without=passed), below, size)
            first = {session: pk for session, pk in batch.newest.items() if session not in seen}
            allowed = self._new(self._satisfying(first), cursor)
            for session, pk in sorted(first.items(), key=lambda item: -item[1]):
                seen[session] = None
                if len(chosen) < limit and session in allowed:
                    chosen[session] = below = pk
                    is_full = len(chosen) == limit
            is_end = batch.last is None
            if is_full or is_end:
                break
            below = batch.last or 0
        shown = self._items(list(chosen), self._documents(list(chosen)))
        following = None if is_end and not is_full else str(below)
        total = len(chosen) if is_end and not is_full and not cursor else self._total()
        return FoundSessions(shown, following, total)

    def _total(self) -> int | None:
        """Return the number of sessions in all pages, None if counting them would take too long."""
        sessions = queries.newest_sessions(self.project, self.rarest, TOP, queries.RARE + 1)
        if sessions.last is not None or (self.condition is not None and len(sessions.newest) > CHECKED):
            return None
        return len(self._new(self._satisfying(sessions.newest), 0))

    def _new(self, sessions: Collection[int], cursor: int) -> Collection[int]:
        """Return the sessions that no earlier page has, and that have a hit of the kinds.

        An earlier page has those whose newest document of the rarest words is above the cursor.
        """
        if cursor:
            documents = queries.by_session(self.project, self.rarest, list(sessions), 1, 1)
            sessions = {pk for pk, of in documents.items() if of.newest[0] < cursor}
        if self.match.kinds and self.rarest != self.match:
            return queries.by_session(self.project, self.match, list(sessions), 1, 1).keys()
        return sessions

    def _satisfying(self, sessions: Collection[int]) -> set[int]:
        if self.condition is None:
            return set(sessions)
        rows = Session.objects.filter(project=self.project, pk__in=list(sessions)).filter(self.condition)
        return set(rows.values_list("pk", flat=True)) if sessions else set()

    def _documents(self, sessions: Sequence[int]) -> Mapping[int, OfSession]:
        """Return the newest hits of sessions, and their number, of those that have any."""
        return queries.by_session(self.project, self.match, sessions, 4 * HITS, COUNTED)

    def _items(self, sessions: Sequence[int], documents: Mapping[int, OfSession]) -> tuple[SessionHits, ...]:
        pks = [pk for session in sessions if session in documents for pk in documents[session].newest]
        rows = {row.pk: row for row in queries.rows(self.project, pks)}
        items = []
        for session in sessions:
            of = documents.get(session, OfSession([], 0))
            hits = [rows[pk] for pk in of.newest if pk in rows]
            item = _hits(session, hits)
            items.append(replace(item, more=max(0, of.number - len(item.hits) - _repeat_count(hits))))
        return tuple(items)


def _rarest(project: int, node: Node | None) -> tuple[Phrase, ...] | None:
    """Return words of which each session that satisfies a query has one; those in the fewest documents.

    None if a session may have none of them. At most one query a word.
    """
    match node:
        case Words():
            phrase = phrase_of(node)
            return (phrase,) if phrase else None
        case Or(nodes):
            parts = [_rarest(project, part) for part in searchable(nodes)]
            return (
                tuple(dict.fromkeys(phrase for part in parts for phrase in part or ()))
                if all(parts)
                else None
            )
        case And(nodes):
            phrases = [part for child in nodes if (part := _rarest(project, child))]
            if len(phrases) < 2:
                return phrases[0] if phrases else None
            return min(phrases, key=lambda part: queries.count(project, Match(part), queries.RARE + 1))
        case _:
            return None


def _hits(session: int, documents: Sequence[Found]) -> SessionHits:
    """Return the first hits, one of each text; a long text has several documents."""
    texts: dict[tuple[int | None, int, str], Found] = {}
    for hit in documents:
        texts.setdefault((hit.event, hit.kind, hit.text), hit)
    shown = tuple(texts.values())
    return SessionHits(session, shown[:HITS], max(0, len(shown) - HITS))


def _repeat_count(documents: Sequence[Found]) -> int:
    return len(documents) - len({(hit.event, hit.kind, hit.text) for hit in documents})


def _phrases(node: Node | None) -> tuple[Phrase, ...]:
    phrases_of = (phrase_of(words) for words in positive_words(node))
    return tuple(dict.fromkeys(phrase for phrase in phrases_of if phrase is not None))
