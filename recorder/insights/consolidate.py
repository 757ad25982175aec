"""One consolidation, from the first loop that was not read to the last line that is not marked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from recorder.core.insights.procedures import procedures
from recorder.core.insights.solutions import solutions
from recorder.insights import mark_consolidated, queries, store
from recorder.insights.extract_facts import Asked, ask_all, model
from recorder.insights.queries import Loop
from recorder.insights.store import Lesson
from recorder.models import Insight, LoopRecord, Project, ReadLoop

LOOPS = 5  # in one transaction: those who record wait for it
DEMO_LOOPS = 100  # more than it plays
PAUSE_S = 0.02  # between two: whoever waits to write comes first


@dataclass(slots=True)
class Done:
    """What a consolidation did."""

    loops: int = 0
    insights: int = 0
    lines: int = 0
    facts: Asked | None = None

    def __str__(self) -> str:
        said = f"{self.loops:,} loops read, {self.insights:,} new insights, {self.lines:,} events marked"
        return f"{said}; {self.facts or 'facts: off'}"


def consolidate(project: Project | None, tell: Callable[[int, str], None], loops: int = LOOPS) -> Done:
    """Read what has ended in a project, or in all, `loops` at a time; `tell` hears how far it is."""
    done = Done()
    projects = [project] if project else list(Project.objects.order_by("pk"))
    for each in projects:
        _read(each, tell, loops, done)
    for number in mark_consolidated.mark(project.pk if project else None, datetime.now(UTC)):
        done.lines += number
        time.sleep(PAUSE_S)
    done.facts = ask_all([each.pk for each in projects])
    return done


def consolidate_demo(project: Project) -> None:
    """Read what the demo played, and nothing else; no model is asked about it. The night marks its events."""
    last = 0
    while some := queries.unread(project.pk, last, DEMO_LOOPS):
        last = some[-1].id
        store.add(project.pk, [_lesson(loop) for loop in some if loop.is_demo], with_facts=False)
    store.settle(project.pk)


def _read(project: Project, tell: Callable[[int, str], None], loops: int, done: Done) -> None:
    insights = Insight.objects.filter(project=project)
    before, last, with_facts = insights.count(), 0, model() is not None
    while some := queries.unread(project.pk, last, loops):
        last = some[-1].id
        lessons = [_lesson(loop) for loop in some]
        done.loops += store.add(project.pk, lessons, with_facts=with_facts)
        tell(len(some), project.slug)
        time.sleep(PAUSE_S)
    store.settle(project.pk)
    done.insights += insights.count() - before


def _lesson(loop: Loop) -> Lesson:
    calls = queries.calls(loop.id)
    return Lesson(loop, [*procedures(loop.agent_id, calls), *solutions(loop.agent_id, calls)])


def waiting(project: Project | None) -> int:
    """Return about how many loops a consolidation would read."""
    ended = LoopRecord.objects.exclude(status__in=("pending", "running"))
    read = ReadLoop.objects.all()
    if project:
        ended, read = ended.filter(session__project=project), read.filter(project=project)
    return max(0, ended.count() - read.count())
