"""Evaluations that telemetry reports: `gen_ai.evaluation.result`, an event of a span or a log record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from recorder.core.content.text import clean
from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import first_text
from recorder.core.records import Json

EVENT = "gen_ai.evaluation.result"
EVALUATIONS_MAX = 50  # evaluations of one span that are read
NAME_MAX, TEXT_MAX = 200, 18_000  # characters
_VALUE = "gen_ai.evaluation.score.value"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluator says; `value` is None and texts are "" where it says nothing."""

    name: str
    value: float | None
    label: str
    explanation: str
    error: str  # why there is no result


def number_of(event: str, events: Sequence[tuple[str, Fields]]) -> int:
    """Return how many evaluations are read from a log record of an event, or from the events of a span."""
    return min(EVALUATIONS_MAX, (event == EVENT) + sum(name == EVENT for name, _ in events))


def evaluations_of(attributes: Fields, events: Sequence[tuple[str, Fields]]) -> list[Evaluation]:
    """Return the evaluations of a line: of a span those in its events, else that of a log record."""
    found = [fields for name, fields in events if name == EVENT] or [attributes]
    return [_evaluation(fields) for fields in found[:EVALUATIONS_MAX]]


def _evaluation(fields: Fields) -> Evaluation:
    return Evaluation(
        clean(first_text(fields, ("gen_ai.evaluation.name",)).strip(), NAME_MAX) or "evaluation",
        _value(fields.get(_VALUE)),
        clean(first_text(fields, ("gen_ai.evaluation.score.label",)).strip(), NAME_MAX),
        clean(first_text(fields, ("gen_ai.evaluation.explanation",)).strip(), TEXT_MAX),
        clean(first_text(fields, ("error.type",)), NAME_MAX),
    )


def _value(sent: Json) -> float | None:
    if isinstance(sent, bool) or not isinstance(sent, int | float | str):
        return None
    try:
        value = float(sent)
    except (ValueError, OverflowError):
        return None
    return value if isfinite(value) else None
