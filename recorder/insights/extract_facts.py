"""Extracts facts from consolidated loops with an LLM. Optional: nothing else depends on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from recorder.core.content.messages import role_of, text_of
from recorder.core.events import MessageEnd
from recorder.core.insights import facts
from recorder.core.insights.facts import InvalidAnswer, Passage
from recorder.core.records import FOREIGN_ORIGINS
from recorder.insights import queries, store
from recorder.insights.llm_client import Away, Model
from recorder.insights.queries import Loop
from recorder.insights.store import Lesson
from recorder.models import EventRecord, LoopRecord, ReadLoop

EVENTS = 200  # of one loop that are read
INVALID_ANSWERS_MAX = 3  # after which a loop is given up
TIMEOUTS_MAX = 7  # requests of one loop without an answer, after which it is given up: it may be the cause
TIMEOUTS_IN_ROW = 3  # after which this run stops asking the model
TIME_LIMIT_S = 3 * 3600  # of one run; the other daily jobs wait


@dataclass(slots=True)
class FactCounts:
    """The counts of one run."""

    loops: int = 0
    facts: int = 0
    dropped: int = 0
    invalid: int = 0  # answers
    unavailable: str = ""  # why the run stopped asking

    def __str__(self) -> str:
        counts = f"facts: {self.facts} in {self.loops} loops, {self.dropped} dropped"
        counts = f"{counts}, {self.invalid} invalid answers"
        return f"{counts}; the model is unavailable: {self.unavailable}" if self.unavailable else counts


def model() -> Model | None:
    """Return the configured model, None if extracting facts is off."""
    url, name = settings.LOOPSCOPE_FACTS_URL, settings.LOOPSCOPE_FACTS_MODEL
    if not url or not name:
        return None
    return Model(url, name, settings.LOOPSCOPE_FACTS_KEY, settings.LOOPSCOPE_FACTS_S)


def ask_all(projects: Sequence[int]) -> FactCounts | None:
    """Extract facts from the loops that are queued for it; None if extracting facts is off."""
    llm, counts, failures = model(), FactCounts(), 0
    if llm is None:
        return None
    until = time.monotonic() + TIME_LIMIT_S
    for loop in _waiting(projects):
        try:
            _ask(llm, loop, counts)
            failures = 0
        except Away as away:
            store.note_failure(loop.id, TIMEOUTS_MAX)
            failures += 1
            counts.unavailable = str(away) if failures == TIMEOUTS_IN_ROW else ""
        if counts.unavailable or time.monotonic() > until:
            break
    return counts


def add_recorded(loop: Loop, answer_of: Callable[[str, Sequence[Passage]], str]) -> None:
    """Add the facts of a recorded answer for an agent and the messages of its loop, "" for none, once."""
    sent = facts.select_passages(_messages(loop.id))
    if answer := answer_of(loop.agent_id, sent):
        found = facts.parse_answer(loop.agent_id, answer, sent).found
        store.add_facts(loop.project, Lesson(loop, found), state="")


def _ask(llm: Model, loop: Loop, counts: FactCounts) -> None:
    sent = facts.select_passages(_messages(loop.id))
    try:
        answer = (
            facts.parse_answer(loop.agent_id, llm.ask(facts.prompt_messages(sent)), sent)
            if sent
            else facts.Answer()
        )
    except InvalidAnswer:
        counts.invalid += 1
        store.note_failure(loop.id, INVALID_ANSWERS_MAX)
        return
    store.add_facts(loop.project, Lesson(loop, answer.found))
    counts.loops += 1
    counts.facts += len(answer.found)
    counts.dropped += answer.dropped


def _waiting(projects: Sequence[int]) -> list[Loop]:
    wanted = ReadLoop.objects.filter(project__in=projects, facts="wanted").values_list("loop")
    rows = LoopRecord.objects.filter(pk__in=wanted).order_by("session__project", "pk")
    times = ("started_at", "session__created_at", "session__last_event_at")
    about = ("pk", "session__project", "agent_id", "session__is_demo", *times)
    return [
        Loop(pk, project, agent, is_demo, started_at or created_at, latest)
        for pk, project, agent, is_demo, started_at, created_at, latest in rows.values_list(*about)
    ]


def _messages(loop: int) -> Iterator[Passage]:
    """Yield the messages of users and model in a loop, in recorded order."""
    rows = EventRecord.objects.filter(loop=loop, type="MessageEnd").exclude(origin__in=FOREIGN_ORIGINS)
    lines = list(rows.order_by("pk").values_list("pk", flat=True)[:EVENTS])
    for at in range(0, len(lines), queries.LINES):
        events = dict(queries.events(lines[at : at + queries.LINES]))
        for line, event in sorted(events.items()):
            if isinstance(event, MessageEnd):
                yield Passage(line, role_of(event.message), text_of(event.message))
