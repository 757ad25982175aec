"""Conditions on tool calls: the keys that a call has itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from dashboard.query_conditions.queries import arguments
from dashboard.query_conditions.queries.context import age, boolean, lasted, since, text, until
from dashboard.query_conditions.queries.loops import in_stale_session
from dashboard.shared.session_state import is_stale
from recorder.models import LoopRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition
    from recorder.models import Session, ToolCall

STATES = {"done": "completed", "cut": "aborted"}  # how a call's state is shown; others as they are


def tool_call(context: Context, condition: Condition) -> Q | None:
    """Return the condition on tool calls; None if the key is one of their session."""
    of_key = BY_KEY.get(condition.key)
    return of_key(context, condition) if of_key else None


def shown_state(call: ToolCall, session: Session) -> str:
    """Return the state of a call of a session as `status:` names it."""
    if call.state == "running" and is_stale(session):
        return "stale"
    return STATES.get(call.state, call.state)


def _status(context: Context, condition: Condition) -> Q:
    words = set(condition.values)
    states = [state for state in ("done", "failed", "cut") if STATES.get(state, state) in words]
    where = Q(state__in=states)
    in_stale = Q(loop__in=LoopRecord.objects.filter(in_stale_session(context)))
    if "running" in words:
        where |= Q(state="running") & ~in_stale
    return where | (Q(state="running") & in_stale) if "stale" in words else where


def _duration(context: Context, condition: Condition) -> Q:
    ended = lasted("ended_at", "started_at", condition)
    return ended | (Q(ended_at__isnull=True, state="running") & age("started_at", condition, context.now))


BY_KEY: dict[str, Callable[[Context, Condition], Q]] = {
    "status": _status,
    "id": lambda _, condition: text("tool_call_id", condition),
    "loop": lambda _, condition: Q(loop__in=LoopRecord.objects.filter(text("loop_id", condition))),
    "tool": lambda _, condition: text("tool_name", condition),
    "tool.error": lambda _, condition: boolean(condition, Q(state="failed")),
    "tool.arg": arguments.of_call,
    "file": arguments.of_call,
    "duration": _duration,
    "since": lambda context, condition: since(("ended_at", "started_at"), condition, context.now),
    "until": lambda context, condition: until(("started_at",), condition, context.now),
    "age": lambda context, condition: age("started_at", condition, context.now),
}
