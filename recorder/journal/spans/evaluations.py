"""Evaluations that telemetry reports, each with the session, loop or turn of the span that it is about.

An evaluation may arrive before or after what it is about, and spans may change its session. So a unit notes
where each one belongs, and those that belong elsewhere than before are collected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from recorder.core.formats.otlp.events import ReadLine
from recorder.core.formats.otlp.spans.content.evaluations import Evaluation, evaluations_of
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.core.formats.otlp.unit import Place, Unit


@dataclass(frozen=True, slots=True)
class PlacedEvaluation:
    """An evaluation, its line, its number in the line, and what it is about."""

    evaluation: Evaluation
    digest: Digest
    number: int
    place: Place
    has_moved: bool  # it was about something else before


def newly_placed(unit: Unit, read: ReadLine) -> Iterator[PlacedEvaluation]:
    """Yield the evaluations of a unit that are about something else than before; note it."""
    for digest, place, known in unit.newly_placed():
        item = read(digest)
        for number, each in enumerate(evaluations_of(item.attributes, item.events)):
            yield PlacedEvaluation(each, digest, number, place, has_moved=number < known)
