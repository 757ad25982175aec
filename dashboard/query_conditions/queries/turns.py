"""Conditions on spending: the keys that a turn has itself or by its loop, on each record with usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from dashboard.query_conditions.queries import loops
from dashboard.query_conditions.queries.context import EVERYTHING, NOTHING, text
from dashboard.query_conditions.queries.records import of_loops

if TYPE_CHECKING:
    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition

SUMMED = ("agent", "model", "provider", "config")  # rollups have a column for them
OF_LOOP = ("loop", "role", "branch")
OWN = (*SUMMED, *OF_LOOP)


def turn(context: Context, condition: Condition) -> Q:
    """Return the condition on turns: the agent and config that answered."""
    match condition.key:
        case "agent":
            began = Q(agent_id="") & text("loop__agent_id", condition)
            return text("agent_id", condition) | began
        case "model" | "provider" | "config":
            return Q(config__in=context.configs(condition))
        case key:
            return of_loops(context, loops.BY_KEY[key](context, condition))


def loop(context: Context, condition: Condition) -> Q:
    """Return the condition on loops as their own usage and count go: by the start of the loop."""
    if condition.key in SUMMED:
        return rollup(context, condition)
    return loops.BY_KEY[condition.key](context, condition)


def rollup(context: Context, condition: Condition) -> Q:
    """Return the condition on rollups, for the keys in SUMMED."""
    if condition.key == "agent":
        return text("agent_id", condition)
    return Q(config__in=context.configs(condition))


def selection(_: Context, condition: Condition) -> Q:
    """Return the condition on groups for the usage of a selection: a judge's, of unknown agent and config."""
    return EVERYTHING if condition.key == "role" and "judge" in condition.values else NOTHING
