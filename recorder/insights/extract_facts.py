"""Has a model read facts in loops that were read; nothing else waits for it or depends on it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from recorder.core.content.messages import role_of, text_of
from recorder.core.events import MessageEnd
from recorder.core.insights import facts
from recorder.core.insights.facts import InvalidAnswer, Passage
from recorder.insights import queries, store
from recorder.insights.llm_client import Away, Model
from recorder.insights.queries import Loop
from recorder.insights.store import Lesson
from recorder.models import EventRecord, LoopRecord, ReadLoop

EVENTS = 200  # of one loop that are looked at
TRIES = 3  # answers that are none, until a loop is left
AWAY_TRIES = 7  # times without an answer, until a loop is left: it may be what keeps the model silent
AWAY = 3  # of those in a row, until the model is left for this time
LONGEST_S = 3 * 3600  # of one time; other daily work waits


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
    until = time.monotonic() + LONGEST_S
    for loop in _waiting(projects):
        try:
            _ask(asking, loop, asked)
            failures = 0
        except Away as away:
            store.note_failure(loop.id, AWAY_TRIES)
            failures += 1
            asked.away = str(away) if failures == AWAY else ""
        if asked.away or time.monotonic() > until:
            break
    return asked


def _ask(asking: Model, loop: Loop, asked: Asked) -> None:
    said = facts.select_passages(_said(loop.id))
    try:
        answer = (
            facts.parse_answer(loop.agent_id, asking.ask(facts.prompt_messages(said)), said)
            if said
            else facts.Answer()
        )
    except InvalidAnswer:
        asked.lies += 1
        store.note_failure(loop.id, TRIES)
        return
    store.add_facts(loop.project, Lesson(loop, answer.found))
    asked.loops += 1
    asked.facts += len(answer.found)
    asked.dropped += answer.dropped


def _waiting(projects: Sequence[int]) -> list[Loop]:
    wanted = ReadLoop.objects.filter(project__in=projects, facts="wanted").values_list("loop")
    rows = LoopRecord.objects.filter(pk__in=wanted).order_by("session__project", "pk")
    about = ("pk", "session__project", "agent_id", "session__is_demo", "started_at", "session__created_at")
    return [
        Loop(pk, project, agent, is_demo, started_at or created_at)
        for pk, project, agent, is_demo, started_at, created_at in rows.values_list(*about)
    ]


def _said(loop: int) -> Iterator[Passage]:
    """Return what people and the model said in a loop, in recorded order, as far as anybody asks."""
    rows = EventRecord.objects.filter(loop=loop, type="MessageEnd").exclude(origin__in=("told", "kept"))
    lines = list(rows.order_by("pk").values_list("pk", flat=True)[:EVENTS])
    for at in range(0, len(lines), queries.LINES):
        said = dict(queries.events(lines[at : at + queries.LINES]))
        for line, event in sorted(said.items()):
            if isinstance(event, MessageEnd):
                yield Passage(line, role_of(event.message), text_of(event.message))
