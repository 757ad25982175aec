"""Conditions on loops: the keys that a loop has itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q

from dashboard.query_conditions.queries import arguments, has, marks, sessions
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
from dashboard.query_conditions.queries.records import of_words
from dashboard.query_conditions.queries.subqueries import branch
from dashboard.query_language import values
from dashboard.shared.queries.session_filter import CACHED, TOKENS
from dashboard.shared.session_state import OPEN, stale
from recorder.models import UNFINISHED, Approval, ChildLoopRef, Session, ToolCall, Waste

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition

COUNTS = {
    "turns": "turns",
    "tools": "tool_calls",
    "errors": "errors",
    "compactions": "compactions",
    "input": "input_tokens",
    "output": "output_tokens",
    "context": "context_tokens",
}


def loop(context: Context, condition: Condition) -> Q | None:
    """Return the condition on loops; None if the key is one of their session."""
    if condition.key in COUNTS:
        return number(COUNTS[condition.key], condition)
    if condition.key == "has":
        return of_words(context, condition, _has, has.has)
    if condition.key == "is":
        return of_words(context, condition, _is, sessions.session)
    of_key = BY_KEY.get(condition.key)
    return of_key(context, condition) if of_key else marks.marked(context, condition, marks.of_loop)


def in_stale_session(context: Context) -> Q:
    """Return the condition that the session of a record is stale."""
    return Q(session__in=Session.objects.filter(stale(context.now), project=context.project))


def _status(context: Context, condition: Condition) -> Q:
    words = set(condition.values)
    is_stale = in_stale_session(context)
    where = Q(outcome__in=sorted(words))
    if opened := sorted(words & {*OPEN}):
        where |= Q(status__in=opened) & ~is_stale
    if "waiting" in words:
        where |= Q(waiting__gt=0) & ~is_stale
    return where | (Q(UNFINISHED) & is_stale) if "stale" in words else where


def _agent(context: Context, condition: Condition) -> Q:
    began = text("agent_id", condition)
    turns = context.answered(text("agent_id", condition))
    return began if turns is None else began | Q(pk__in=turns.values("loop"))


def _config(context: Context, condition: Condition) -> Q:
    configs = context.configs(condition)
    turns = context.answered(Q(config__in=configs))
    began = Q(config__in=configs)
    return began if turns is None else began | Q(pk__in=turns.values("loop"))


def _calls(condition: Q) -> Q:
    return Q(Exists(ToolCall.objects.filter(condition, loop=OuterRef("pk"))))


def _duration(context: Context, condition: Condition) -> Q:
    ended = lasted("ended_at", "started_at", condition)
    runs = Q(ended_at__isnull=True) & ~in_stale_session(context)
    silent = Q(ended_at__isnull=True) & in_stale_session(context)
    return any_of(
        ended,
        runs & age("started_at", condition, context.now),
        silent & lasted("last_event_at", "started_at", condition),
    )


def _waiting(context: Context, condition: Condition) -> Q:
    requested = age("requested_at", condition, context.now)
    approvals = Approval.objects.filter(requested, loop=OuterRef("pk"), resolved_at__isnull=True)
    lengths = any(values.duration(value) is not None for value in condition.values)
    return number("waiting", condition) | (Q(Exists(approvals)) if lengths else NOTHING)


def _has(context: Context, word: str) -> Q | None:
    """Return the condition of `has:` by what the loop has itself; None for a word that it cannot have."""
    if word in HAS:
        return HAS[word]
    if word == "waste":
        return _with_waste(context)
    return marks.has_any(context, word, marks.of_loop)


def _is(context: Context, word: str) -> Q | None:
    match word:
        case "live":
            return Q(UNFINISHED) & ~in_stale_session(context)
        case "waiting":
            return Q(waiting__gt=0) & ~in_stale_session(context)
        case "wasteful":
            return _with_waste(context, alarm_line__isnull=False)
        case "bookmarked":
            return marks.bookmarked(context, marks.of_loop)
        case _:
            return None


def _with_waste(context: Context, **conditions: object) -> Q:
    return Q(pk__in=Waste.objects.filter(project=context.project, **conditions).values("loop"))


HAS: dict[str, Q] = {
    **{word: Q(errors__gt=0) for word in ("error", "errors")},
    **{word: Q(compactions__gt=0) for word in ("compaction", "compactions")},
    **{word: Q(tool_calls__gt=0) for word in ("tool", "tools")},
    **{word: Q(config__isnull=False) for word in ("model", "config")},
    **{word: _calls(~Q(summary="")) for word in ("tool.arg", "file")},
    "sub-agent": Q(Exists(ChildLoopRef.objects.filter(loop=OuterRef("pk")))),
    "outcome": ~Q(outcome=""),
    "agent": ~Q(agent_id=""),
    "title": ~Q(title=""),
    "provider": Q(config__provider__gt=""),
    "tool.error": _calls(Q(state="failed")),
    "cost": Q(cost_nano__isnull=False),
    "tokens": Q(input_tokens__gt=0) | Q(output_tokens__gt=0),
    "input": Q(input_tokens__gt=0),
    "output": Q(output_tokens__gt=0),
    "cache": Q(cache_read_tokens__gt=0) | Q(cache_write_tokens__gt=0),
    "turns": Q(turns__gt=0),
    "context": Q(context_tokens__isnull=False),
    "branch": Q(group__isnull=False),
    "waiting": Q(waiting__gt=0),
}
BY_KEY: dict[str, Callable[[Context, Condition], Q]] = {
    "status": _status,
    "outcome": lambda _, condition: Q(outcome__in=condition.values),
    "agent": _agent,
    "model": _config,
    "provider": _config,
    "config": _config,
    "title": lambda _, condition: contains("title", condition),
    "id": lambda _, condition: text("loop_id", condition),
    "loop": lambda _, condition: text("loop_id", condition),
    "role": lambda _, condition: Q(role__in=condition.values),
    "tool": lambda _, condition: _calls(text("tool_name", condition)),
    "tool.error": lambda _, condition: boolean(condition, _calls(Q(state="failed"))),
    "tool.arg": lambda context, condition: _calls(arguments.of_call(context, condition)),
    "file": lambda context, condition: _calls(arguments.of_call(context, condition)),
    "cost": lambda _, condition: amount("cost_nano", condition),
    "tokens": lambda _, condition: number(TOKENS, condition),
    "cache": lambda _, condition: number(CACHED, condition),
    "duration": _duration,
    "since": lambda context, condition: since(("last_event_at", "started_at"), condition, context.now),
    "until": lambda context, condition: until(("started_at",), condition, context.now),
    "age": lambda context, condition: age("started_at", condition, context.now),
    "branch": lambda _, condition: branch(condition),
    "waiting": _waiting,
}
