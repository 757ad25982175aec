"""Conditions on sessions by their loops, tool calls, evaluations and labels, as subqueries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q

from dashboard.query_conditions.queries.context import NOTHING, boolean, text
from dashboard.query_language.keys import METADATA
from recorder.core.content.labels import label_text
from recorder.models import LoopRecord, ParallelGroupRecord, SessionLabel, ToolCall

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition


def loops() -> QuerySet[LoopRecord]:
    """Return the loops of the session of the query around."""
    return LoopRecord.objects.filter(session=OuterRef("pk"))


def calls() -> QuerySet[ToolCall]:
    """Return the tool calls of the session of the query around."""
    return ToolCall.objects.filter(loop__session=OuterRef("pk"))


def with_loops(rows: QuerySet[LoopRecord]) -> Q:
    return Q(Exists(rows))


def with_calls(rows: QuerySet[ToolCall]) -> Q:
    return Q(Exists(rows))


def with_groups(**conditions: object) -> Q:
    return Q(Exists(ParallelGroupRecord.objects.filter(session=OuterRef("pk"), **conditions)))


def labelled(context: Context, name: str, condition: Condition) -> Q:
    """Return the condition that the session has a tag or a value of metadata."""
    family, _, rest = name.partition(".")
    name = f"{METADATA}{label_text(rest)}" if family == "metadata" else name
    labels = SessionLabel.objects.filter(project=context.project, name=name)
    if condition.operator == "begins":
        labels = labels.filter(text("value", condition))
    else:
        labels = labels.filter(value__in=[label_text(value) for value in condition.values])
    return Q(pk__in=labels.values("session"))


def branch(condition: Condition) -> Q:
    """Return the condition that a loop is a branch: one that won, one that lost, or any."""
    where = NOTHING
    for value in condition.values:
        match value:
            case "won":
                where |= Q(is_selected=True)
            case "lost":
                where |= Q(is_selected=False)
    is_branch = Q(group__isnull=False)
    return where | boolean(condition, is_branch) if {*condition.values} - {"won", "lost"} else where


def won_by(context: Context, condition: Condition, branches: QuerySet[LoopRecord]) -> Q:
    """Return the condition that the selected one of some branches began with one of the configs."""
    configs = context.configs(condition)
    selected = branches.filter(is_selected=True)
    where = Q(Exists(selected.filter(config__in=configs)))
    turns = context.answered(Q(config__in=configs))
    return where if turns is None else where | Q(Exists(selected.filter(pk__in=turns.values("loop"))))
