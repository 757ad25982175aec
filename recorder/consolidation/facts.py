"""Has a model read facts in loops that were read; nothing else waits for it or depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from recorder.consolidation import keeping, reading
from recorder.consolidation.keeping import Lesson
from recorder.consolidation.model import Away, Model
from recorder.consolidation.reading import Loop
from recorder.core.events import MessageEnd
from recorder.core.insights import facts
from recorder.core.insights.facts import Lie, Said
from recorder.core.messages import role_of, text_of
from recorder.models import EventRecord, LoopRecord, ReadLoop

EVENTS = 200  # of one loop that are looked at
TRIES = 3  # answers that are none, until a loop is left
AWAY = 3  # failures in a row, until the model is left for this time
AT_ONCE = 50


@dataclass(slots=True)
class Asked:
    """What came of asking."""

    loops: int = 0
    facts: int = 0
    dropped: int = 0
    lies: int = 0
    away: str = ""  # why the model was left

    def __str__(self) -> str:
        said = f"facts: {self.facts} in {self.loops} loops, {self.dropped} dropped, {self.lies} bad answers"
        return f"{said}; the model is away, {self.away}" if self.away else said


def model() -> Model | None:
    """Return the model that reads facts, None if that is off."""
    url, name = settings.LOOPSCOPE_FACTS_URL, settings.LOOPSCOPE_FACTS_MODEL
    if not url or not name:
        return None
    return Model(url, name, settings.LOOPSCOPE_FACTS_KEY, settings.LOOPSCOPE_FACTS_S)


def ask_all(projects: Sequence[int]) -> Asked | None:
    """Ask about the loops that wait for it; None if that is off."""
    asking, asked, failures = model(), Asked(), 0
    if asking is None:
        return None
    for project in projects:
        for loop in _waiting(project):
            try:
                _ask(asking, project, loop, asked)
                failures = 0
            except Away as away:
                failures += 1
                if failures == AWAY:
                    asked.away = str(away)
                    return asked
    return asked


def _ask(asking: Model, project: int, loop: Loop, asked: Asked) -> None:
    said = facts.sent(_said(loop.id))
    try:
        answer = facts.read(loop.agent_id, asking.ask(facts.messages(said)), said) if said else facts.Answer()
    except Lie:
        asked.lies += 1
        keeping.note_lie(loop.id, TRIES)
        return
    keeping.add_facts(project, Lesson(loop, answer.found))
    asked.loops += 1
    asked.facts += len(answer.found)
    asked.dropped += answer.dropped


def _waiting(project: int) -> list[Loop]:
    wanted = ReadLoop.objects.filter(project=project, facts="wanted").order_by("loop").values_list("loop")
    rows = LoopRecord.objects.filter(pk__in=wanted).select_related("session").order_by("pk")
    return [
        Loop(row.pk, row.agent_id, row.session.is_demo, row.started_at or row.session.created_at)
        for row in rows.only("agent_id", "started_at", "session__is_demo", "session__created_at")
    ]


def _said(loop: int) -> Iterator[Said]:
    """Return what people and the model said in a loop, in recorded order, as far as anybody asks."""
    rows = EventRecord.objects.filter(loop=loop, type="MessageEnd").exclude(origin__in=("told", "kept"))
    lines = list(rows.order_by("pk").values_list("pk", flat=True)[:EVENTS])
    for at in range(0, len(lines), reading.LINES):
        said = dict(reading.events(lines[at : at + reading.LINES]))
        for line, event in sorted(said.items()):
            if isinstance(event, MessageEnd):
                yield Said(line, role_of(event.message), text_of(event.message))
