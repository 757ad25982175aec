"""Conditions on compactions: config and agent of the turn in or after which a context was compacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import BigIntegerField, Case, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce, NullIf

from dashboard.query_conditions.queries.context import text
from recorder.models import Compaction, Turn

if TYPE_CHECKING:
    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition

_BEFORE = Turn.objects.filter(loop=OuterRef("loop"), state="done", end_event__lt=OuterRef("start_event"))
_BEFORE = _BEFORE.order_by("-ordinal")
_LAST = Turn.objects.filter(loop=OuterRef("loop__parent"), config__isnull=False).order_by("-ordinal")
# A compaction loop has no config of its own: that of the last turn of the loop that it shortened counts.
CONFIG = Coalesce(
    "turn__config",
    Case(When(loop__has_switched=True, then=Subquery(_BEFORE.values("config")[:1]))),
    "loop__config",
    Case(When(loop__parent__has_switched=True, then=Subquery(_LAST.values("config")[:1]))),
    "loop__parent__config",
    output_field=BigIntegerField(),
)
_NONE = Value("")  # the agent of a turn that the agent of the loop's start answered
AGENT = Case(
    When(turn__isnull=False, then=Coalesce(NullIf("turn__agent_id", _NONE), "loop__agent_id")),
    When(
        loop__has_switched=True,
        then=Coalesce(NullIf(Subquery(_BEFORE.values("agent_id")[:1]), _NONE), "loop__agent_id"),
    ),
    default="loop__agent_id",
)


def compaction(context: Context, condition: Condition) -> Q | None:
    """Return the condition on compactions; None if the key is one of their loop or session."""
    rows = Compaction.objects.filter(loop__session__project=context.project)
    match condition.key:
        case "config" | "model" | "provider":
            rows = rows.alias(of=CONFIG).filter(of__in=context.configs(condition).values("pk"))
        case "agent":
            rows = rows.alias(of=AGENT).filter(text("of", condition))
        case _:
            return None
    return Q(pk__in=rows.values("pk"))
