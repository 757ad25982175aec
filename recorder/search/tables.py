"""The words of documents: one index table a project, in SQLite's FTS5 or as a `tsvector` of PostgreSQL.

A table a project keeps projects apart: the common words of one cost another nothing, no rank or count depends
on what others recorded, and deleting or rebuilding one is dropping a table. The words are always our own
tokens (`recorder.core.search.tokens`), joined by spaces:

- FTS5 without content. Its `ascii` tokeniser cuts at ASCII punctuation and nothing else, of which our tokens
  have only the full stop; beyond ASCII it keeps every byte. Rows are deleted by the words they were inserted
  with (SQLite before 3.43 has no other way).
- PostgreSQL: a literal `tsvector`, so that none of its parsers takes part. Each document also has the word of
  its bucket, `BUCKET` consecutive primary keys. A search for the newest documents intersects the index with a
  few buckets at a time: without them a common word would read all its documents to sort them.

The callers hold the transaction. Cost: an insert a document; a search reads about the documents it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import connection

from recorder.core.search.tokens import SEPARATOR
from recorder.database import sql
from recorder.search.match import Match, bucket_word, fts5, tsquery

BUCKET = 2_048
MERGED_PAGES = 500  # of FTS5, written in one transaction
MERGE_CHANGES = 2  # rows that a portion changes at least, as its manual says, unless all is merged
_WINDOWS = (1, 8, 64)  # buckets read at a time, from the newest; the last repeats

Row = tuple[int, Sequence[str]]  # the primary key of a document and its words


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document found, and how well it matches: higher is better."""

    pk: int
    score: float


def table(project: int) -> str:
    return f"recorder_search_{project:d}"


def exists(project: int) -> bool:
    """Return whether a project has an index; one query."""
    if connection.vendor == "postgresql":
        return bool(sql.read("SELECT to_regclass(%s) IS NOT NULL", table(project))[0][0])
    return bool(sql.read("SELECT 1 FROM sqlite_master WHERE name = %s", table(project)))


def create(project: int) -> None:
    """Create the empty index of a project, in place of one that it has."""
    drop(project)
    name = table(project)
    if connection.vendor == "postgresql":
        _run(f"CREATE TABLE {name} (id bigint PRIMARY KEY, words tsvector NOT NULL)")
        # Statistics of words mislead the planner: for common words it would read all rows from the newest on.
        # A list of pending words would be read by each search.
        _run(f"ALTER TABLE {name} ALTER COLUMN words SET STATISTICS 0")
        _run(f"CREATE INDEX {name}_words ON {name} USING gin (words) WITH (fastupdate = off)")
        return
    _run(f"""CREATE VIRTUAL TABLE {name} USING fts5(words, content='', tokenize="ascii tokenchars '.'")""")


def drop(project: int) -> None:
    """Delete the index of a project, if it has one."""
    _run(f"DROP TABLE IF EXISTS {table(project)}")


def names() -> list[str]:
    """Return the names of all index tables."""
    if connection.vendor == "postgresql":
        query = "SELECT tablename FROM pg_tables WHERE tablename ~ '^recorder_search_[0-9]+$'"
        return [name for (name,) in sql.read(query)]
    query = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE recorder_search_%%'"
    return [name for (name,) in sql.read(query)]


def add(project: int, rows: Sequence[Row]) -> None:
    """Insert the words of documents."""
    name = table(project)
    if connection.vendor == "postgresql":
        values: sql.Values = []
        for pk, words in rows:
            values += (pk, _literal(pk, words))
        sql.insert_all(name, {}, ("id", "words"), values)
        return
    sql.write(
        f"INSERT INTO {name} (rowid, words) VALUES (%s, %s)", [(pk, " ".join(words)) for pk, words in rows]
    )


def remove(project: int, rows: Sequence[Row]) -> None:
    """Delete the words of documents: those with which they were inserted (SQLite)."""
    name = table(project)
    if connection.vendor == "postgresql":
        sql.write(f"DELETE FROM {name} WHERE id = %s", [(pk,) for pk, _ in rows])
        return
    sql.write(
        f"INSERT INTO {name} ({name}, rowid, words) VALUES ('delete', %s, %s)",
        [(pk, " ".join(words)) for pk, words in rows],
    )


def merge(project: int) -> None:
    """Merge the segments of an index in portions, each a transaction; deleted words go with that (SQLite)."""
    name, pages = table(project), -MERGED_PAGES  # negative: also segments that are too few to be merged
    while True:
        before = sql.read("SELECT total_changes()")[0][0]
        sql.write(f"INSERT INTO {name} ({name}, rank) VALUES ('merge', %s)", [[pages]])
        if sql.read("SELECT total_changes()")[0][0] - before < MERGE_CHANGES:
            return
        pages = MERGED_PAGES


def newest(project: int, match: Match, below: int, limit: int) -> list[int]:
    """Return the newest documents below a primary key that match, newest first."""
    if connection.vendor == "postgresql" and not match.sessions:
        return list(_newest_by_bucket(project, match, below, limit))
    found = sql.read(_newest(project), expression(match), below, limit)
    return [pk for (pk,) in found]


def count(project: int, match: Match, below: int, limit: int) -> int:
    """Return the number of documents below a primary key that match, counted to `limit`."""
    if connection.vendor == "postgresql":
        return len(newest(project, match, below, limit))
    statement = f"SELECT COUNT(*) FROM ({_newest(project)}) n"
    return int(sql.read(statement, fts5(match), below, limit)[0][0])


def ranked(project: int, match: Match, limit: int) -> list[Ranked]:
    """Return the `limit` newest documents that match with their rank. The whole match is read for it."""
    name = table(project)
    if connection.vendor == "postgresql":
        pks = newest(project, match, sql.read(f"SELECT COALESCE(MAX(id), 0) + 1 FROM {name}")[0][0], limit)
        statement = f"SELECT id, ts_rank(words, %s::tsquery) FROM {name} WHERE {sql.in_list('id')}"
        found = sql.read(statement, tsquery(match), sql.list_param(pks))
    else:
        statement = (
            f"SELECT rowid, -bm25({name}) FROM {name} WHERE {name} MATCH %s ORDER BY rowid DESC LIMIT %s"
        )
        found = sql.read(statement, fts5(match), limit)
    return [Ranked(pk, score) for pk, score in found]


def matching(project: int) -> str:
    """Return the SQL that selects the documents of a match, which is its parameter (`expression`)."""
    name = table(project)
    if connection.vendor == "postgresql":
        return f"SELECT id FROM {name} WHERE words @@ %s::tsquery"
    return f"SELECT rowid FROM {name} WHERE {name} MATCH %s"


def any_of_session(project: int) -> str:
    """Return the SQL condition, of a session and a match, that the session has a matching document."""
    name = table(project)
    if connection.vendor == "postgresql":
        key, matches = "id", "i.words @@ ('''.s' || {} || ''' & ' || {})::tsquery"
    else:
        key, matches = "rowid", f"i.{name} MATCH ('\".s' || {{}} || '\" AND ' || {{}})"
    join = f"{name} i JOIN recorder_searchdocument d ON d.id = i.{key}"
    return f"EXISTS (SELECT 1 FROM {join} WHERE NOT d.is_gone AND {matches})"


def expression(match: Match) -> str:
    """Return a match as the running database writes it."""
    return tsquery(match) if connection.vendor == "postgresql" else fts5(match)


def _newest(project: int) -> str:
    name, key = table(project), "id" if connection.vendor == "postgresql" else "rowid"
    return f"{matching(project)} AND {name}.{key} < %s ORDER BY {name}.{key} DESC LIMIT %s"


def _newest_by_bucket(project: int, match: Match, below: int, limit: int) -> Iterator[int]:
    name = table(project)
    low, high = sql.read(f"SELECT COALESCE(MIN(id), 0), COALESCE(MAX(id), -1) FROM {name}")[0]
    statement = _newest(project)
    bucket, last, step = min(below - 1, high) // BUCKET, low // BUCKET, 0
    while bucket >= last and limit > 0:
        width = _WINDOWS[min(step, len(_WINDOWS) - 1)]
        buckets = range(bucket, max(bucket - width, last - 1), -1)
        found = sql.read(statement, tsquery(match, buckets), below, limit)
        yield from (pk for (pk,) in found)
        limit -= len(found)
        bucket, step = bucket - width, step + 1


def _literal(pk: int, words: Sequence[str]) -> str:
    """Return words as a literal `tsvector`; quotes are enough, as no word has one. A separator is a gap."""
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words, start=1):
        if word != SEPARATOR:
            places.setdefault(word, []).append(str(place))
    return f"'{bucket_word(pk // BUCKET)}' " + " ".join(
        f"'{word}':{','.join(at)}" for word, at in places.items()
    )


def _run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
