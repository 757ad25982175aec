"""`file:` and `tool.arg:`: tool calls whose arguments contain a text.

The record of a call has the first 200 characters of its arguments. A text beyond them is looked up in the
index of recorded text: the tool calls with its words, side by side. Of the calls so found the recorded
arguments decide, as long as one query finds at most `CHECKED`: then signs between the words count. Of a text
in more calls the words decide alone. So the cost of a query is bounded: it reads no more lines.

A call that is not indexed yet is found by its summary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from django.db.models import Q

from dashboard.query_conditions.queries.context import any_of, contains
from dashboard.query_conditions.queries.subqueries import calls as calls_of_session
from dashboard.query_conditions.queries.subqueries import with_calls
from recorder.core.search.event_texts import flat
from recorder.core.search.fold import decode_escapes
from recorder.core.search.tokens import Phrase, is_short_prefix, query_tokens
from recorder.journal.read import texts
from recorder.models import SearchDocument
from recorder.search import queries
from recorder.search.documents import decode
from recorder.search.match import Match

if TYPE_CHECKING:
    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition
    from recorder.core.records import Json
    from recorder.search.queries import Found

CHECKED = 200  # calls of one query whose recorded arguments are read
NEWEST = (
    5_000  # calls with the words of a text in more calls; only these are found in lists of loops and calls
)
KINDS = (SearchDocument.TOOL_CALL,)


def of_session(context: Context, condition: Condition) -> Q:
    """Return the condition on sessions that a tool call has such arguments."""
    summarized = with_calls(calls_of_session().filter(contains("summary", condition)))
    phrases = _phrases(context, condition)
    if not phrases:
        return summarized
    calls = _checked_calls(context, condition, phrases)
    if calls is not None:
        return summarized | Q(pk__in=sorted({call.session for call in calls}))
    indexed = (queries.in_session(context.project, phrase, KINDS) for phrase in phrases)
    return any_of(summarized, *indexed)


def of_call(context: Context, condition: Condition) -> Q:
    """Return the condition on tool calls that they have such arguments."""
    summarized = contains("summary", condition)
    phrases = _phrases(context, condition)
    if not phrases:
        return summarized
    calls = _checked_calls(context, condition, phrases)
    if calls is None:
        calls = queries.newest(context.project, Match(phrases, KINDS), queries.TOP, NEWEST).found
    return summarized | Q(start_event__in=sorted({call.event for call in calls if call.event is not None}))


def _phrases(context: Context, condition: Condition) -> tuple[Phrase, ...]:
    """Return the words of each value; none where the project has no index."""
    read = map(_phrase, condition.values)
    phrases = tuple(dict.fromkeys(phrase for phrase in read if phrase is not None))
    return phrases if phrases and queries.is_searchable(context.project) else ()


def _phrase(value: str) -> Phrase | None:
    """Return the words of a value, of which the last may continue; left out if too short for a beginning."""
    phrase = query_tokens(value, is_prefix=True)
    if phrase is not None and len(phrase.tokens) > 1 and is_short_prefix(value):
        return Phrase(phrase.tokens[:-1])
    return phrase


def _checked_calls(context: Context, condition: Condition, phrases: tuple[Phrase, ...]) -> list[Found] | None:
    """Return the calls whose recorded arguments have one of the values; None where they are too many."""
    left = CHECKED - context.checked_calls
    calls = queries.newest(context.project, Match(phrases, KINDS), queries.TOP, left + 1).found
    if len(calls) > left:
        return None
    context.checked_calls += len(calls)
    lines = texts({call.event for call in calls if call.event is not None})
    holding = {pk for pk, raw in lines.items() if _holds(decode(raw).get("args"), condition)}
    return [call for call in calls if call.event in holding]


def _holds(arguments: Json, condition: Condition) -> bool:
    """Return whether arguments contain one of the values, or one of them begins so, in any case."""
    wanted = [_normal(value) for value in condition.values]
    if condition.operator == "begins":
        return any(_normal(leaf).startswith(value) for leaf in _leaves(arguments) for value in wanted)
    whole = _normal(flat(arguments))
    return any(value in whole for value in wanted)


def _leaves(value: Json) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    stack: list[Json] = [value]
    while stack:
        inner = stack.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, Collection):
            stack += inner.values() if isinstance(inner, dict) else inner


def _normal(text: str) -> str:
    return decode_escapes(text).casefold()
