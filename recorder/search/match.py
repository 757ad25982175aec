"""Conditions on the documents to be found: phrases, kinds and sessions, as expressions of both databases.

A document's words are the tokens of its text and, before them, words of our own that no text can have,
because they begin with a full stop: `.k1` for its kind, `.s42` for its session. So the index itself limits a
search to kinds and sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recorder.core.search.tokens import Phrase


@dataclass(frozen=True, slots=True)
class Match:
    """Documents with any of the phrases, of any of the kinds, of any of the sessions, and not of some.

    There are phrases or kinds.
    """

    phrases: tuple[Phrase, ...]  # empty: any text
    kinds: tuple[int, ...] = ()  # empty: all
    sessions: tuple[int, ...] = ()  # empty: all
    without: tuple[int, ...] = ()  # sessions


def head(kind: int, session: int) -> list[str]:
    """Return the words of our own of a document."""
    return [f".k{kind}", f".s{session}"]


def fts5(match: Match) -> str:
    """Return a match as a query string of SQLite's FTS5."""
    parts = [_any(map(_fts5_phrase, match.phrases))] if match.phrases else []
    if match.kinds:
        parts.append(_any(f'".k{kind}"' for kind in match.kinds))
    if match.sessions:
        parts.insert(0, _any(_session(pk) for pk in match.sessions))
    found = " AND ".join(parts)
    return f"({found}) NOT {_any(_session(pk) for pk in match.without)}" if match.without else found


def tsquery(match: Match, buckets: Sequence[int] = ()) -> str:
    """Return a match as a literal `tsquery` of PostgreSQL, within some buckets of documents."""
    parts = [_either(map(_ts_phrase, match.phrases))] if match.phrases else []
    if buckets:
        parts.append(_either(f"'{bucket_word(bucket)}'" for bucket in buckets))
    if match.kinds:
        parts.append(_either(f"'.k{kind}'" for kind in match.kinds))
    if match.sessions:
        parts.append(_either(f"'.s{pk}'" for pk in match.sessions))
    if match.without:
        parts.append("!" + _either(f"'.s{pk}'" for pk in match.without))
    return " & ".join(parts)


def bucket_word(bucket: int) -> str:
    """Return the word of the documents whose primary keys are in one bucket (PostgreSQL)."""
    return f".b{bucket}"


def _any(expressions: Iterable[str]) -> str:
    return f"({' OR '.join(expressions)})"


def _either(expressions: Iterable[str]) -> str:
    return f"({' | '.join(expressions)})"


def _session(pk: int) -> str:
    return f'".s{pk}"'


def _fts5_phrase(phrase: Phrase) -> str:
    return f'"{" ".join(phrase.tokens)}"' + (" *" if phrase.is_prefix else "")


def _ts_phrase(phrase: Phrase) -> str:
    *begin, last = (f"'{token}'" for token in phrase.tokens)
    return f"({' <-> '.join([*begin, last + ':*' if phrase.is_prefix else last])})"
