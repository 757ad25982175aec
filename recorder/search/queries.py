"""Reads of the index: documents of a project that match, and conditions on sessions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import BooleanField, F, Func, Q, Value
from django.db.models.expressions import RawSQL

from recorder.core.search.tokens import Phrase
from recorder.database import sql
from recorder.models import SearchDocument
from recorder.search import documents, tables, titles
from recorder.search.match import Match

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models.sql.compiler import SQLCompiler

TOP = 2**62  # above every primary key
RARE = 5_000  # documents; the sessions of a word in more are found session by session
COMMON = 20_000  # documents; a word in more has no rank worth the time to compute it
UNINDEXED = 20_000  # newest sessions of which those without an index are looked for
TOGETHER = 50  # sessions whose documents are read in one query,
TOGETHER_DOCUMENTS = 6_000  # if they have at most so many that match


@dataclass(frozen=True, slots=True)
class Found:
    """A document that matches; `text` and `at` are those of a note or title."""

    pk: int
    session: int
    loop: int | None
    turn: int | None
    event: int | None
    kind: int
    text: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that match, newest first, and the last one looked at; None if there are no more."""

    found: list[Found]
    last: int | None


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions with the newest of the documents looked at, and the last of these; None if that is all."""

    newest: dict[int, int]
    last: int | None


@dataclass(slots=True)
class OfSession:
    """The newest documents of a session that match, newest first, and how many match."""

    newest: list[int]
    number: int


def is_searchable(project: int) -> bool:
    return tables.exists(project)


def newest(project: int, match: Match, below: int, limit: int) -> Batch:
    """Return the newest documents below a primary key. Two queries (PostgreSQL: one more a window)."""
    pks = tables.newest(project, match, below, limit)
    return Batch(rows(project, pks), pks[-1] if len(pks) == limit else None)


def newest_sessions(project: int, match: Match, below: int, limit: int) -> Sessions:
    """Return the sessions of the newest documents below a primary key. Two queries (PostgreSQL: as above)."""
    pks = tables.newest(project, match, below, limit)
    statement = f"""SELECT session, MAX(id) FROM {documents.DOCUMENTS}
    WHERE {sql.in_list("id")} AND project_id = %s AND NOT is_gone GROUP BY session"""
    found: dict[int, int] = dict(sql.read(statement, sql.list_param(pks), project)) if pks else {}
    return Sessions(found, pks[-1] if len(pks) == limit else None)


def by_session(
    project: int, match: Match, sessions: Sequence[int], shown: int, counted: int
) -> dict[int, OfSession]:
    """Return the `shown` newest documents of each session that has any, and their number up to `counted`.

    Two queries for `TOGETHER` sessions; four for each session if they have very many documents.
    """
    found: dict[int, OfSession] = {}
    for at in range(0, len(sessions), TOGETHER):
        some = sessions[at : at + TOGETHER]
        pks = tables.newest(project, replace(match, sessions=tuple(some)), TOP, TOGETHER_DOCUMENTS)
        if len(pks) == TOGETHER_DOCUMENTS:
            found |= {pk: _of_session(project, match, pk, shown, counted) for pk in some}
            continue
        for pk, session in _sessions_of(project, pks):
            of = found.setdefault(session, OfSession([], 0))
            if len(of.newest) < shown:
                of.newest.append(pk)
            of.number = min(of.number + 1, counted)
    return {session: of for session, of in found.items() if of.newest}


def _of_session(project: int, match: Match, session: int, shown: int, counted: int) -> OfSession:
    of_it = replace(match, sessions=(session,))
    batch = newest(project, of_it, TOP, shown)
    while not batch.found and batch.last is not None:  # documents that are gone may come first
        batch = newest(project, of_it, batch.last, 64)
    return OfSession([found.pk for found in batch.found[:shown]], count(project, of_it, counted))


def _sessions_of(project: int, pks: Sequence[int]) -> list[tuple[int, int]]:
    statement = f"""SELECT id, session FROM {documents.DOCUMENTS}
    WHERE {sql.in_list("id")} AND project_id = %s AND NOT is_gone ORDER BY id DESC"""
    return sql.read(statement, sql.list_param(pks), project) if pks else []


def rows(project: int, pks: Sequence[int]) -> list[Found]:
    """Return documents by their primary keys, newest first, without those that are gone."""
    if not pks:
        return []
    statement = f"""SELECT id, session, loop, turn, event, kind, text, at FROM {documents.DOCUMENTS}
    WHERE {sql.in_list("id")} AND project_id = %s AND NOT is_gone ORDER BY id DESC"""
    found = sql.read(statement, sql.list_param(pks), project)
    return [replace(Found(*row), at=sql.aware(row[-1])) for row in found]


def ranked(project: int, match: Match, limit: int) -> list[tables.Ranked]:
    """Return the newest documents that match with their rank; 0 for a match that is too common to rank."""
    if count(project, match, COMMON + 1) > COMMON:
        return [tables.Ranked(pk, 0.0) for pk in tables.newest(project, match, TOP, limit)]
    return tables.ranked(project, match, limit)


def count(project: int, match: Match, limit: int) -> int:
    """Return the number of documents that match, counted to `limit`."""
    return tables.count(project, match, TOP, limit)


def unindexed(project: int) -> list[tuple[int, str]]:
    """Return the sessions that are not in the index yet, with the text that it will have. One query.

    They are those of the newest by activity, once for each prompt; none while the index is up to date.
    """
    behind = """SELECT 1 FROM recorder_journalevent WHERE project_id = %s AND id > COALESCE(
    (SELECT cursor FROM recorder_searchstate WHERE project_id = %s), 0)"""
    newest = f"""SELECT id, title, agent_id, session_id, title_given FROM recorder_session
    WHERE project_id = %s ORDER BY last_event_at DESC, id DESC LIMIT {UNINDEXED}"""
    # The title of a loop is its first prompt, which a title that was set hides.
    statement = f"""SELECT s.id, s.title, s.agent_id, s.session_id, COALESCE(l.title, '') FROM ({newest}) s
    LEFT JOIN recorder_looprecord l ON l.session_id = s.id AND s.title_given
    WHERE EXISTS ({behind}) AND NOT EXISTS (SELECT 1 FROM {documents.DOCUMENTS} d
    WHERE d.session = s.id AND d.kind = {SearchDocument.TITLE} AND NOT d.is_gone)"""
    return [
        (pk, "\n".join((titles.words(title, agent, session_id), prompt)))
        for pk, title, agent, session_id, prompt in sql.read(statement, project, project, project)
    ]


def one_of(sessions: Collection[int]) -> Q:
    """Return the condition that a record is one of these, bound as one parameter."""
    if not sessions:
        return Q(pk__in=())
    values = f"SELECT value FROM {sql.list_table('chosen', 'bigint')}"
    return Q(pk__in=RawSQL(values, (sql.list_param(sessions),)))  # noqa: S611  no text of others


def in_session(project: int, phrase: Phrase, kinds: tuple[int, ...] = ()) -> Q:
    """Return the condition on `Session` that a text of it, of some kinds, has the phrase. Two queries."""
    return having(project, Match((phrase,), kinds))


def having(project: int, match: Match) -> Q:
    """Return the condition on `Session` that it has a document that matches. One or two queries.

    Rare documents are looked up once for all sessions, common ones for each session that a list reads.
    """
    if not is_searchable(project):
        return Q(pk__in=())
    if count(project, match, RARE + 1) <= RARE:
        statement = f"""SELECT session FROM {documents.DOCUMENTS} WHERE NOT is_gone
        AND id IN ({tables.matching(project)})"""
        return Q(pk__in=RawSQL(statement, (tables.expression(match),)))  # noqa: S611  our own names
    return Q(_HasDocument(project, match))


class _HasDocument(Func):
    """A condition: the session has a document that matches, by the word that each of its documents has."""

    output_field = BooleanField()

    def __init__(self, project: int, match: Match) -> None:
        self._template = tables.any_of_session(project)
        super().__init__(F("pk"), Value(tables.expression(match)))

    def as_sql(  # type: ignore[override]  # the template has no place for the params of both in order
        self, compiler: SQLCompiler, _connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, Any]:
        pk, params = compiler.compile(self.source_expressions[0])
        value, more = compiler.compile(self.source_expressions[1])
        return self._template.format(pk, value), [*params, *more]
