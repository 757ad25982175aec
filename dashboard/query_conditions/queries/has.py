"""`has:`: sessions that have any value of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from dashboard.query_conditions.queries import marks
from dashboard.query_conditions.queries.context import EVERYTHING, any_of
from dashboard.query_conditions.queries.subqueries import calls, loops, with_calls, with_loops
from dashboard.query_language.keys import METADATA
from recorder.models import SessionLabel, Waste

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition

COUNTED = {  # word, and the column of sessions that counts it
    "error": "errors",
    "errors": "errors",
    "parallel": "groups",
    "evaluation": "groups",
    "sub-agent": "sub_agents",
    "compaction": "compactions",
    "compactions": "compactions",
    "waiting": "waiting",
    "loop": "loops",
    "loops": "loops",
    "role": "loops",
    "turns": "turns",
    "tool": "tool_calls",
    "tools": "tool_calls",
    "input": "input_tokens",
    "output": "output_tokens",
}
FILLED = {  # word, and the text of sessions that is not empty
    "outcome": "outcome",
    "agent": "agent_id",
    "title": "title",
    "parent": "parent_session_id",
}
LABELS = {"tag": "tag", "version": "metadata.version", "user": "metadata.user"}


def has(context: Context, condition: Condition) -> Q:
    """Return the condition that the session has a value of one of the keys."""
    return any_of(*(_has(context, word) for word in condition.values))


def _has(context: Context, word: str) -> Q:
    if word in COUNTED:
        return Q(**{f"{COUNTED[word]}__gt": 0})
    if word in FILLED:
        return ~Q(**{FILLED[word]: ""})
    if (marked := marks.has_any(context, word, marks.of_session)) is not None:
        return marked
    if word in LABELS or word.startswith(METADATA):
        return _by_label(context, Q(name=LABELS.get(word, word)))
    other = OTHERS.get(word)
    return other(context) if other else EVERYTHING  # every session has an id, a status, a duration …


def _by_label(context: Context, condition: Q) -> Q:
    labels = SessionLabel.objects.filter(condition, project=context.project)
    return Q(pk__in=labels.values("session"))


def with_waste(context: Context, **conditions: object) -> Q:
    """Return the condition that a session has waste, of which these conditions hold."""
    wastes = Waste.objects.filter(project=context.project, **conditions)
    return Q(pk__in=wastes.values("session"))


def _with_config(_: Context) -> Q:
    return with_loops(loops().filter(config__isnull=False))


def _machine(context: Context) -> Q:
    return _by_label(context, Q(name="metadata.machine")) | with_loops(loops().exclude(producer__machine=""))


OTHERS: dict[str, Callable[[Context], Q]] = {
    "waste": with_waste,
    "metadata": lambda context: _by_label(context, Q(name__startswith=METADATA)),
    "machine": _machine,
    "model": _with_config,
    "provider": lambda _: with_loops(loops().filter(config__provider__gt="")),
    "config": _with_config,
    "cost": lambda _: Q(cost_nano__isnull=False),
    "tokens": lambda _: Q(input_tokens__gt=0) | Q(output_tokens__gt=0),
    "cache": lambda _: Q(cache_read_tokens__gt=0) | Q(cache_write_tokens__gt=0),
    "context": lambda _: with_loops(loops().filter(context_tokens__isnull=False)),
    "tool.error": lambda _: with_calls(calls().filter(state="failed")),
    "tool.arg": lambda _: with_calls(calls().exclude(summary="")),
    "file": lambda _: with_calls(calls().exclude(summary="")),
    "branch": lambda _: with_loops(loops().filter(group__isnull=False)),
    "winner": lambda _: with_loops(loops().filter(is_selected=True)),
}
