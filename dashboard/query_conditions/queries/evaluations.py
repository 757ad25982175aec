"""Conditions on evaluations: the keys that an evaluation has itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    Subquery,
    Sum,
    When,
)
from django.db.models.functions import Coalesce

from dashboard.query_conditions.queries import has, marks, sessions
from dashboard.query_conditions.queries.context import (
    EVERYTHING,
    NOTHING,
    age,
    amount,
    any_of,
    lasted,
    number,
    since,
    until,
)
from dashboard.query_conditions.queries.loops import in_stale_session
from dashboard.query_conditions.queries.records import of_words
from dashboard.query_conditions.queries.subqueries import won_by
from dashboard.query_language import values
from dashboard.query_language.keys import STATES
from dashboard.query_language.nodes import Condition
from dashboard.shared.queries.session_filter import CACHED, TOKENS
from recorder.models import LoopRecord, ParallelGroupRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet
    from django.db.models.expressions import Combinable

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Operator

WHOLE = BigIntegerField()


def evaluation(context: Context, condition: Condition) -> Q | None:
    """Return the condition on evaluations; None if the key is one of their session."""
    if condition.key == "has":
        return of_words(context, condition, _has, has.has)
    if condition.key == "is":
        return of_words(context, condition, _is, sessions.session)
    of_key = BY_KEY.get(condition.key)
    return of_key(context, condition) if of_key else marks.marked(context, condition, marks.of_group)


def _branches() -> QuerySet[LoopRecord]:
    return LoopRecord.objects.filter(group=OuterRef("pk"))


def _status(context: Context, condition: Condition) -> Q:
    words = set(condition.values)
    is_stale = Q(status="running") & in_stale_session(context)
    where = Q(status__in=sorted(words - {*STATES}))
    if "running" in words:
        where |= Q(status="running") & ~is_stale
    return where | is_stale if "stale" in words else where


def _config(context: Context, condition: Condition) -> Q:
    configs = context.configs(condition)
    began = Q(Exists(_branches().filter(config__in=configs)))
    turns = context.answered(Q(config__in=configs))
    return began if turns is None else began | Q(Exists(_branches().filter(pk__in=turns.values("loop"))))


def _id(_: Context, condition: Condition) -> Q:
    pks = [
        int(value) for value in condition.values if value.isascii() and value.isdecimal() and len(value) < 19
    ]
    return Q(pk__in=pks) if condition.operator == "=" else NOTHING


def _verdict(_: Context, condition: Condition) -> Q:
    truths = {values.boolean(value) for value in condition.values}
    return EVERYTHING if True in truths else Q(verdict__in=condition.values)


def _loops(_: Context, condition: Condition) -> Q:
    counted = LoopRecord.objects.filter(group=OuterRef("pk")).values("group").annotate(n=Count("pk"))
    return number(Coalesce(Subquery(counted.values("n"), output_field=IntegerField()), 0), condition)


def _total(of: Combinable, holds: Callable[[str, Condition], Q]) -> Callable[[Context, Condition], Q]:
    """Return the condition on what branches and judge spent together, as `costs.group_totals` adds it up.

    Without a recorded judge loop, what the group itself reports counts. Unknown parts are left out; a sum
    without a known part matches nothing.
    """
    of_branches = _branches().values("group").annotate(total=Sum(of, output_field=WHOLE))
    branches = Subquery(of_branches.values("total"), output_field=WHOLE)
    loops = LoopRecord.objects.filter(pk=OuterRef("judge"))
    judge = Subquery(loops.annotate(total=of).values("total"), output_field=WHOLE)
    own = Case(When(judge__isnull=True, then=of), default=judge, output_field=WHOLE)
    groups = ParallelGroupRecord.objects.filter(pk=OuterRef("pk"))
    summed = groups.alias(total=Coalesce(branches + own, branches, own, output_field=WHOLE))
    return lambda _, condition: Q(Exists(summed.filter(holds("total", condition))))


def _duration(context: Context, condition: Condition) -> Q:
    ended = lasted("ended_at", "started_at", condition)
    runs = Q(ended_at__isnull=True) & ~in_stale_session(context)
    return any_of(ended, runs & age("started_at", condition, context.now))


def _has(context: Context, word: str) -> Q | None:
    """Return the condition of `has:` by what the evaluation has itself; None for any other word."""
    if word in SPENT:
        sign: Operator = ">=" if word == "cost" else ">"
        return BY_KEY[word](context, Condition(word, sign, ("0",)))
    return HAS[word] if word in HAS else marks.has_any(context, word, marks.of_group)


def _is(context: Context, word: str) -> Q | None:
    return marks.bookmarked(context, marks.of_group) if word == "bookmarked" else None


SPENT = ("cost", "tokens", "input", "output", "cache")
HAS: dict[str, Q] = {
    **dict.fromkeys(("evaluation", "parallel"), EVERYTHING),
    **{word: Q(Exists(_branches())) for word in ("branch", "loops")},
    **{word: Q(Exists(_branches().filter(config__isnull=False))) for word in ("model", "config")},
    "provider": Q(Exists(_branches().filter(config__provider__gt=""))),
    "winner": Q(Exists(_branches().filter(is_selected=True))),
}
BY_KEY: dict[str, Callable[[Context, Condition], Q]] = {
    "status": _status,
    "model": _config,
    "provider": _config,
    "config": _config,
    "id": _id,
    "cost": _total(F("cost_nano"), amount),
    "tokens": _total(TOKENS, number),
    "input": _total(F("input_tokens"), number),
    "output": _total(F("output_tokens"), number),
    "cache": _total(CACHED, number),
    "loops": _loops,
    "duration": _duration,
    "since": lambda context, condition: since(("ended_at", "started_at"), condition, context.now),
    "until": lambda context, condition: until(("started_at",), condition, context.now),
    "age": lambda context, condition: age("started_at", condition, context.now),
    "winner": lambda context, condition: won_by(context, condition, _branches()),
    "evaluation": _verdict,
}
