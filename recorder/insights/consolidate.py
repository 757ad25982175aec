"""Runs a consolidation: insights of all ended loops that are not consolidated, then marks their lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from recorder.core.insights.facts import Passage
from recorder.core.insights.procedures import procedures
from recorder.core.insights.solutions import solutions
from recorder.insights import mark_consolidated, queries, store
from recorder.insights.extract_facts import FactCounts, add_recorded, ask_all, model
from recorder.insights.queries import Loop
from recorder.insights.store import Lesson
from recorder.models import Insight, LoopRecord, Project, ReadLoop

BATCH_LOOPS = 5  # in one transaction: the ingest writer waits for it
DEMO_LOOPS = 100  # more than the demo plays
PAUSE_S = 0.02  # between two transactions


@dataclass(slots=True)
class Summary:
    """The counts of one consolidation."""

    loops: int = 0
    insights: int = 0
    lines: int = 0
    facts: FactCounts | None = None

    def __str__(self) -> str:
        counts = f"{self.loops:,} loops read, {self.insights:,} new insights, {self.lines:,} events marked"
        return f"{counts}; {self.facts or 'facts: off'}"


def consolidate(
    project: Project | None, on_progress: Callable[[int, str], None], loops: int = BATCH_LOOPS
) -> Summary:
    """Consolidate the ended loops of one project, or of all, `loops` in each transaction.

    `on_progress` is called after each transaction with the number of loops and the project's slug.
    """
    done = Summary()
    projects = [project] if project else list(Project.objects.order_by("pk"))
    for each in projects:
        _consolidate(each, on_progress, loops, done)
    for number in mark_consolidated.mark(project.pk if project else None, datetime.now(UTC)):
        done.lines += number
        time.sleep(PAUSE_S)  # so that the ingest writer gets the lock
    done.facts = ask_all([each.pk for each in projects])
    return done


def consolidate_demo(project: Project, answer_of: Callable[[str, Sequence[Passage]], str]) -> None:
    """Consolidate the demo's loops only. The daily run marks their lines.

    No model is asked: `answer_of` returns the recorded answer for an agent and the messages of its loop.
    """
    last = 0
    while batch := queries.unconsolidated(project.pk, last, DEMO_LOOPS):
        last = batch[-1].id
        played = [loop for loop in batch if loop.is_demo]
        store.add(project.pk, [_lesson(loop) for loop in played], with_facts=False)
        for loop in played:
            add_recorded(loop, answer_of)
    store.update_parts(project.pk)


def _consolidate(
    project: Project, on_progress: Callable[[int, str], None], loops: int, done: Summary
) -> None:
    insights = Insight.objects.filter(project=project)
    before, last, with_facts = insights.count(), 0, model() is not None
    while batch := queries.unconsolidated(project.pk, last, loops):
        last = batch[-1].id
        lessons = [_lesson(loop) for loop in batch]
        done.loops += store.add(project.pk, lessons, with_facts=with_facts)
        on_progress(len(batch), project.slug)
        time.sleep(PAUSE_S)  # so that the ingest writer gets the lock
    store.update_parts(project.pk)
    done.insights += insights.count() - before


def _lesson(loop: Loop) -> Lesson:
    calls = queries.calls(loop.id)
    return Lesson(loop, [*procedures(loop.agent_id, calls), *solutions(loop.agent_id, calls)])


def waiting(project: Project | None) -> int:
    """Estimate how many loops a consolidation would read."""
    ended = LoopRecord.objects.exclude(status__in=("pending", "running"))
    read = ReadLoop.objects.all()
    if project:
        ended, read = ended.filter(session__project=project), read.filter(project=project)
    return max(0, ended.count() - read.count())
