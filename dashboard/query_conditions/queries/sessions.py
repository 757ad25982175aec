"""Conditions on sessions, one function for each key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from django.db.models import Q

from dashboard.query_conditions.queries import arguments, marks
from dashboard.query_conditions.queries.context import (
    NOTHING,
    age,
    amount,
    any_of,
    boolean,
    contains,
    lasted,
    number,
    since,
    text,
    until,
)
from dashboard.query_conditions.queries.has import has, with_waste
from dashboard.query_conditions.queries.subqueries import (
    branch,
    calls,
    labelled,
    loops,
    with_calls,
    with_groups,
    with_loops,
    won_by,
)
from dashboard.query_language import values
from dashboard.query_language.keys import METADATA, SCORE, STATES
from dashboard.shared.queries.session_filter import CACHED, TOKENS, has_id, has_status
from dashboard.shared.search.sessions import has_words, is_titled
from dashboard.shared.session_state import OPEN, live
from recorder.core.sources import RUNTIMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition, Words

COUNTS = {
    "turns": "turns",
    "loops": "loops",
    "tools": "tool_calls",
    "errors": "errors",
    "compactions": "compactions",
    "input": "input_tokens",
    "output": "output_tokens",
}


def with_words(context: Context, words: Words) -> Q:
    """Return the condition that a recorded text of the session has the words.

    Lists also find a session by its id or the beginning of it, and one that is not indexed yet by its title.
    """
    indexed = has_words(context.project, words)
    if context.is_indexed_only:
        return indexed
    return indexed | has_id(words.text) | is_titled(words, context.unindexed)


def session(context: Context, condition: Condition) -> Q:
    """Return the condition on sessions. It reads configs of the project at most, none of its sessions."""
    key = condition.key
    if key in COUNTS:
        return number(COUNTS[key], condition)
    if key.startswith(METADATA):
        return labelled(context, key, condition)
    if key.startswith(SCORE):
        return marks.score(context, condition)
    return BY_KEY[key](context, condition)


def _status(context: Context, condition: Condition) -> Q:
    words = set(condition.values)
    waiting = Q(waiting__gt=0) & live(context.now) if "waiting" in words else NOTHING
    shown = has_status(tuple(words & ({*STATES} - {"waiting"})), context.now)
    return any_of(shown, waiting, Q(outcome__in=sorted(words - {*STATES})))


def _agent(context: Context, condition: Condition) -> Q:
    began = text("agent_id", condition)
    turns = context.answered(text("agent_id", condition))
    return began if turns is None else began | Q(pk__in=turns.values("loop__session"))


def _config(context: Context, condition: Condition) -> Q:
    configs = context.configs(condition)
    began = with_loops(loops().filter(config__in=configs))
    turns = context.answered(Q(config__in=configs))
    return began if turns is None else began | Q(pk__in=turns.values("loop__session"))


def _runtime(context: Context, condition: Condition) -> Q:
    sources = [source for source, name in RUNTIMES.items() if _is_runtime(source, name, condition)]
    return labelled(context, f"{METADATA}runtime", condition) | Q(source__in=sources)


def _is_runtime(source: str, name: str, condition: Condition) -> bool:
    names = {source.lower(), name.lower()} - {""}
    if condition.operator == "begins":
        return any(known.startswith(condition.values[0].lower()) for known in names)
    return bool(names & {value.lower() for value in condition.values})


def _duration(context: Context, condition: Condition) -> Q:
    runs = Q(status__in=OPEN) & live(context.now)
    ended = lasted("ended_at", "created_at", condition)
    silent = Q(ended_at__isnull=True) & lasted("last_event_at", "created_at", condition)
    return (runs & age("created_at", condition, context.now)) | (~runs & (ended | silent))


def _until(context: Context, condition: Condition) -> Q:
    # A session whose start is dated in the future began when it arrived, not after its last event.
    return until(("created_at", "last_event_at"), condition, context.now)


def _evaluation(_: Context, condition: Condition) -> Q:
    truths = [value for value in condition.values if values.boolean(value) is not None]
    verdicts = [value for value in condition.values if value not in truths]
    where = with_groups(verdict__in=verdicts) if verdicts else NOTHING
    return where | boolean(replace(condition, values=tuple(truths)), Q(groups__gt=0)) if truths else where


def _waiting(context: Context, condition: Condition) -> Q:
    return number("waiting", condition) | (Q(waiting__gt=0) & age("waiting_since", condition, context.now))


def _machine(context: Context, condition: Condition) -> Q:
    sent = with_loops(loops().filter(text("producer__machine", condition)))
    return labelled(context, f"{METADATA}machine", condition) | sent


def _is(context: Context, condition: Condition) -> Q:
    states: dict[str, Callable[[], Q]] = {
        "live": lambda: live(context.now),
        "waiting": lambda: Q(waiting__gt=0) & live(context.now),
        "wasteful": lambda: with_waste(context, alarm_line__isnull=False),
        "bookmarked": lambda: marks.bookmarked(context),
        "pinned": lambda: marks.pinned(context),
        "mine": lambda: marks.mine(context),
    }
    return any_of(*(states[value]() for value in condition.values))


BY_KEY: dict[str, Callable[[Context, Condition], Q]] = {
    "status": _status,
    "outcome": lambda _, condition: Q(outcome__in=condition.values),
    "agent": _agent,
    "model": _config,
    "provider": _config,
    "config": _config,
    "source": lambda _, condition: Q(source__in=condition.values),
    "runtime": _runtime,
    "title": lambda _, condition: contains("title", condition),
    "id": lambda _, condition: text("session_id", condition),
    "session": lambda _, condition: text("session_id", condition),
    "loop": lambda _, condition: with_loops(loops().filter(text("loop_id", condition))),
    "role": lambda _, condition: with_loops(loops().filter(role__in=condition.values)),
    "tool": lambda _, condition: with_calls(calls().filter(text("tool_name", condition))),
    "tool.error": lambda _, condition: boolean(condition, with_calls(calls().filter(state="failed"))),
    "tool.arg": arguments.of_session,
    "file": arguments.of_session,
    "cost": lambda _, condition: amount("cost_nano", condition),
    "tokens": lambda _, condition: number(TOKENS, condition),
    "cache": lambda _, condition: number(CACHED, condition),
    "duration": _duration,
    "context": lambda _, condition: with_loops(loops().filter(number("context_tokens", condition))),
    "since": lambda context, condition: since(("last_event_at",), condition, context.now),
    "until": _until,
    "age": lambda context, condition: age("created_at", condition, context.now),
    "branch": lambda _, condition: with_loops(loops().filter(branch(condition))),
    "winner": lambda context, condition: won_by(context, condition, loops()),
    "evaluation": _evaluation,
    "waiting": _waiting,
    "note": marks.note,
    "bookmark": marks.bookmark,
    "parent": lambda _, condition: text("parent_session_id", condition),
    "version": lambda context, condition: labelled(context, f"{METADATA}version", condition),
    "user": lambda context, condition: labelled(context, f"{METADATA}user", condition),
    "machine": _machine,
    "tag": lambda context, condition: labelled(context, "tag", condition),
    "has": has,
    "is": _is,
}
