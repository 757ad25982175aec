"""The context that conditions of one query share, and comparisons of values with columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from django.db.models import F, Q
from django.db.models.functions import Left
from django.db.models.lookups import Exact, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual

from dashboard.query_language import values
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.queries.session_filter import LABELS_MAX
from dashboard.shared.search import sessions
from dashboard.web.time_range import DAY
from recorder.models import LoopRecord, ModelConfig, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import QuerySet
    from django.db.models.expressions import Combinable

    from dashboard.query_language.nodes import Condition, Operator

NOTHING = Q(pk__in=[])
EVERYTHING = ~NOTHING
LOOKUPS: Mapping[Operator, str] = {"=": "exact", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
COMPARISONS = {
    "=": Exact,
    ">": GreaterThan,
    ">=": GreaterThanOrEqual,
    "<": LessThan,
    "<=": LessThanOrEqual,
}
BACKWARDS = {"gte": "lte", "lt": "gt"}
LARGEST = 2**62  # of a column of 64 bits
MS = timedelta(milliseconds=1)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


@dataclass
class Context:
    """The project, the present and the reader of one query. Configs are read once for all its conditions."""

    project: int
    now: datetime
    user: AbstractBaseUser | None = None
    is_indexed_only: bool = False  # words are looked up in the index alone
    checked_calls: int = 0  # whose recorded arguments were read for the query so far

    @cached_property
    def switched(self) -> QuerySet[LoopRecord] | None:
        """The loops that changed their config or agent; None if the project has none."""
        loops = LoopRecord.objects.filter(session__project=self.project, has_switched=True)
        return loops if loops.exists() else None

    @cached_property
    def labels(self) -> Mapping[int, Chip]:
        """The labels of the configs of the project, as far as filters compare them."""
        pks = ModelConfig.objects.filter(project=self.project).values_list("pk", flat=True)
        return chips(list(pks[:LABELS_MAX]))

    @cached_property
    def unindexed(self) -> Sequence[tuple[int, Sequence[str]]]:
        """The sessions that are not indexed yet, with the tokens of their titles."""
        return sessions.unindexed(self.project)

    def configs(self, condition: Condition) -> QuerySet[ModelConfig]:
        """Return the configs that `model:`, `provider:`, `config:` or `winner:` names."""
        configs = ModelConfig.objects.filter(project=self.project)
        if condition.key in ("model", "provider"):
            return configs.filter(text(condition.key, condition))
        labelled = [pk for pk, chip in self.labels.items() if is_named(chip.label, condition)]
        named = text("key", condition) | text("config_id", condition) | Q(pk__in=labelled)
        if condition.key == "winner":
            named |= text("model", condition)
        return configs.filter(named)

    def answered(self, condition: Q) -> QuerySet[Turn] | None:
        """Return the turns that a later config or agent of their loop answered."""
        if self.switched is None:
            return None
        return Turn.objects.filter(condition, state="done", loop__in=self.switched)


def text(column: str, condition: Condition) -> Q:
    """Return the condition that a column has one of the texts, or begins with one, in their own case."""
    if condition.operator == "begins":
        # LIKE would ignore case on SQLite only.
        return Q(Exact(Left(F(column), len(condition.values[0])), condition.values[0]))
    return Q(**{f"{column}__in": condition.values})


def contains(column: str, condition: Condition) -> Q:
    """Return the condition that a column contains one of the texts, or begins with one, in any case."""
    lookup = "istartswith" if condition.operator == "begins" else "icontains"
    where = NOTHING
    for value in condition.values:
        # SQLite folds case in ASCII only: other text is searched as typed, in lower, upper and title case.
        for way in {value} if value.isascii() else {value, value.lower(), value.upper(), value.capitalize()}:
            where |= Q(**{f"{column}__{lookup}": way})
    return where


def is_named(name: str, condition: Condition) -> bool:
    if condition.operator == "begins":
        return name.startswith(condition.values[0])
    return name in condition.values


def number(column: str | Combinable, condition: Condition) -> Q:
    """Return the condition that a whole number compares with the value, which may have a fraction."""
    where = NOTHING
    for value in condition.values:
        least = values.number(value)
        if least is not None:
            where |= _whole(column, condition.operator, least)
    return where


def amount(column: str, condition: Condition) -> Q:
    """Return the condition that an amount in nano-dollars compares with the value."""
    where = NOTHING
    for value in condition.values:
        if (nano := values.amount(value)) is not None:
            where |= Q(**{f"{column}__{LOOKUPS[condition.operator]}": nano})
    return where


def lasted(end: str, begin: str, condition: Condition) -> Q:
    """Return the condition that the time between two columns compares so, in whole milliseconds as shown."""
    where = NOTHING
    for value in condition.values:
        if (duration := values.duration(value)) is not None:
            limits = _limits(condition.operator, duration)
            where |= Q(**{f"{end}__{lookup}": F(begin) + limit for lookup, limit in limits.items()})
    return where


def age(column: str, condition: Condition, now: datetime) -> Q:
    """Return the condition that the time from a column until now compares so, in whole milliseconds."""
    where = NOTHING
    for value in condition.values:
        if (duration := values.duration(value)) is not None:
            limits = _limits(condition.operator, duration)
            where |= Q(**{f"{column}__{BACKWARDS[lookup]}": now - limit for lookup, limit in limits.items()})
    return where


def since(columns: tuple[str, ...], condition: Condition, now: datetime) -> Q:
    """Return the condition that one of the columns is at or after the earliest time."""
    where = NOTHING
    for value in condition.values:
        if (moment := values.time(value, now)) is not None:
            for column in columns:
                where |= Q(**{f"{column}__gte": moment})
    return where


def until(columns: tuple[str, ...], condition: Condition, now: datetime) -> Q:
    """Return the condition that a column is at or before the latest time; a date includes its day."""
    where = NOTHING
    for value in condition.values:
        if (moment := values.time(value, now)) is not None:
            is_day = values.DAY_ONLY.fullmatch(value) is not None and moment < LATEST
            lookup = "lt" if is_day else "lte"
            for column in columns:
                where |= Q(**{f"{column}__{lookup}": moment + DAY if is_day else moment})
    return where


def boolean(condition: Condition, holds: Q) -> Q:
    """Return `holds` for true, its negation for false, anything for both."""
    wanted = {values.boolean(value) for value in condition.values}
    if wanted == {True, False}:
        return EVERYTHING
    return holds if True in wanted else ~holds if False in wanted else NOTHING


def any_of(*conditions: Q) -> Q:
    where = NOTHING
    for condition in conditions:
        where |= condition
    return where


def _whole(column: str | Combinable, operator: Operator, value: Decimal) -> Q:
    is_whole = value == value.to_integral_value()
    if operator == "=" and not is_whole:
        return NOTHING
    rounding = ROUND_FLOOR if operator in (">", "<=") else ROUND_CEILING
    bound = max(-LARGEST, min(LARGEST, int(value.to_integral_value(rounding))))
    if isinstance(column, str):
        return Q(**{f"{column}__{LOOKUPS[operator]}": bound})
    return Q(COMPARISONS[operator](column, bound))


def _limits(operator: Operator, duration: timedelta) -> dict[str, timedelta]:
    """Return the lookups of a comparison of durations, of which less than a millisecond is not shown."""
    match operator:
        case ">":
            return {"gte": duration + MS}
        case "<=":
            return {"lt": duration + MS}
        case ">=" | "<":
            return {LOOKUPS[operator]: duration}
        case _:
            return {"gte": duration, "lt": duration + MS}
