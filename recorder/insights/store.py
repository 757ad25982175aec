"""The only module that writes insights.

Additions commute: loops may be added in any order and in any batches with the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import transaction

from recorder.core.insights.findings import Finding, finding_key, median
from recorder.core.insights.solutions import TEXT, normalize_error
from recorder.database import project_lock, sql
from recorder.insights import queries
from recorder.insights.queries import Loop
from recorder.masking.masker import Masker
from recorder.models import Insight, InsightEvidence, ReadLoop
from recorder.operations.deletion import Deleted

EVIDENCE_MAX = 20  # the newest loops that are stored as evidence of an insight
REPEATED = 3  # occurrences that make a sequence a procedure
BATCH_ROWS = 500
ABOUT = 100  # characters, of the column

_ADDED = (
    "times", "worked", "loops", "durations", "median_ms", "first_at", "last_at"
)  # fmt: skip
_SURPLUS = """DELETE FROM recorder_insightevidence WHERE id IN (SELECT id FROM (
              SELECT id, ROW_NUMBER() OVER (PARTITION BY insight_id ORDER BY loop DESC) AS place
              FROM recorder_insightevidence WHERE {}) AS placed WHERE place > {})"""
# Whether a longer procedure occurs as often.
_PARTS = """SELECT id, is_part, is_covered FROM (SELECT a.id, a.is_part,
              EXISTS (SELECT 1 FROM recorder_insight b WHERE b.project_id = a.project_id AND b.head = a.key
                      AND b.is_demo = a.is_demo AND b.times >= a.times)
              OR EXISTS (SELECT 1 FROM recorder_insight b WHERE b.project_id = a.project_id AND b.tail = a.key
                         AND b.is_demo = a.is_demo AND b.times >= a.times) AS is_covered
            FROM recorder_insight a WHERE a.project_id = %s AND a.kind = 'procedure' AND a.times >= %s)
            AS parts WHERE is_part <> is_covered"""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A loop and the insights found in it."""

    loop: Loop
    found: Sequence[Finding] = field(default=())


def add(project: int, lessons: Sequence[Lesson], *, with_facts: bool) -> int:
    """Add the insights of loops, once; return how many of the loops were new.

    `with_facts` queues the loops for `extract_facts`.
    """
    with transaction.atomic():
        project_lock.lock(project)
        new = queries.still_unconsolidated({lesson.loop.id for lesson in lessons})
        ours = [lesson for lesson in lessons if lesson.loop.id in new]
        for is_demo in (False, True):
            _add(project, [lesson for lesson in ours if lesson.loop.is_demo == is_demo], is_demo=is_demo)
        facts = "wanted" if with_facts else ""
        ReadLoop.objects.bulk_create(
            [ReadLoop(loop=lesson.loop.id, project_id=project, facts=facts) for lesson in ours]
        )
    return len(ours)


def add_facts(project: int, lesson: Lesson, state: str = "wanted") -> None:
    """Add the facts that a model found in a loop, once: from this state the loop goes to "done"."""
    with transaction.atomic():
        project_lock.lock(project)
        mine = ReadLoop.objects.filter(loop=lesson.loop.id, facts=state)
        if mine.update(facts="done"):
            _add(project, [lesson], is_demo=lesson.loop.is_demo)


def note_failure(loop: int, most: int) -> None:
    """Count a failed request; after `most` failures the loop is not asked about again."""
    for row in ReadLoop.objects.filter(loop=loop, facts="wanted"):
        row.tries += 1
        row.facts = "failed" if row.tries >= most else "wanted"
        row.save()


def update_parts(project: int) -> None:
    """Hide procedures that are parts of longer ones that occur as often, and show the others."""
    changed = sql.read(_PARTS, project, REPEATED)
    for is_part in (True, False):
        rows = [pk for pk, _, is_covered in changed if bool(is_covered) == is_part]
        for at in range(0, len(rows), BATCH_ROWS):
            Insight.objects.filter(pk__in=rows[at : at + BATCH_ROWS]).update(is_part=is_part)


def dismiss(project: int, pk: int, by: str) -> bool:
    """Hide an insight from the page; its counts go on. False if it does not exist."""
    rows = Insight.objects.filter(project=project, pk=pk)
    return rows.update(dismissed_at=datetime.now(UTC), dismissed_by=by[:200]) == 1


def restore(project: int, pk: int) -> bool:
    """Show a dismissed insight again. False if it does not exist."""
    return Insight.objects.filter(project=project, pk=pk).update(dismissed_at=None, dismissed_by="") == 1


def forget_demo(project: int) -> None:
    """Delete the demo's insights and the marks of its consolidated loops."""
    Insight.objects.filter(project=project, is_demo=True).delete()
    demo = "SELECT l.id FROM recorder_looprecord l JOIN recorder_session s ON s.id = l.session_id"
    sql.write(
        f"DELETE FROM recorder_readloop WHERE loop IN ({demo} WHERE s.is_demo AND s.project_id = %s)",
        [[project]],
    )


def forget_session(deleted: Deleted) -> None:
    """Take the loops of a session that is deleted out of the insights; those of no other loop are deleted.

    An insight counts more loops than it has evidence of: what an older loop added to it stays.
    """
    for at in range(0, len(deleted.loops), BATCH_ROWS):
        loops = deleted.loops[at : at + BATCH_ROWS]
        _forget_evidence(loops)
        ReadLoop.objects.filter(loop__in=loops).delete()


def mask(project: int, masker: Masker) -> None:
    """Mask the texts of insights and of their evidence.

    The last word of a text that was cut goes: it may be the beginning of a secret. The error of a solution is
    normalized anew if one of its texts changes, as a secret in it would no longer look like one.
    """
    for row in Insight.objects.filter(project=project).order_by("pk").prefetch_related("evidence"):
        before = row.statement, row.steps, row.about
        row.statement, row.about = masker.mask_text(row.statement), masker.mask_text(row.about)[:ABOUT]
        row.steps = [masker.mask_text(step) for step in row.steps]
        for each in row.evidence.all():
            text = masker.mask_text(_whole_words(each.text))[:TEXT]
            if text == each.text:
                continue
            each.text = text
            each.save(update_fields=("text",))
            if row.kind == Insight.Kind.SOLUTION:
                row.statement = normalize_error(text)
        if (row.statement, row.steps, row.about) != before:
            row.save(update_fields=("statement", "steps", "about"))


def _whole_words(text: str) -> str:
    return text.rpartition(" ")[0] if len(text) >= TEXT else text


def _forget_evidence(loops: Sequence[int]) -> None:
    for row in InsightEvidence.objects.filter(loop__in=loops).select_related("insight"):
        insight = row.insight
        insight.times -= min(row.times, insight.times)
        insight.worked -= min(row.worked, insight.worked)
        insight.loops -= min(1, insight.loops)
        if insight.loops:
            insight.save(update_fields=("times", "worked", "loops"))
            row.delete()
        else:
            insight.delete()


def _add(project: int, lessons: Sequence[Lesson], *, is_demo: bool) -> None:
    shown = [(lesson.loop, found) for lesson in lessons for found in lesson.found]
    if not shown:
        return
    rows = _rows(project, {found.key for _, found in shown}, is_demo=is_demo)
    for loop, found in shown:
        if found.key not in rows:
            rows[found.key] = _row(project, found, loop, is_demo=is_demo)
        _count(rows[found.key], found, loop)
    Insight.objects.bulk_create(
        rows.values(),
        batch_size=BATCH_ROWS,
        update_conflicts=True,
        unique_fields=("project", "key", "is_demo"),
        update_fields=_ADDED,
    )
    _add_evidence({name: row.pk for name, row in rows.items()}, shown)


def _rows(project: int, keys: Collection[str], *, is_demo: bool) -> dict[str, Insight]:
    found: dict[str, Insight] = {}
    wanted = sorted(keys)
    for at in range(0, len(wanted), BATCH_ROWS):
        batch = Insight.objects.filter(project=project, is_demo=is_demo, key__in=wanted[at : at + BATCH_ROWS])
        found |= {row.key: row for row in batch}
    return found


def _row(project: int, found: Finding, loop: Loop, *, is_demo: bool) -> Insight:
    row = Insight(project_id=project, kind=found.kind, key=found.key, is_demo=is_demo)
    row.agent_id, row.steps, row.about = found.agent_id, found.steps, found.about
    row.statement = found.statement
    row.is_changed, row.durations = found.is_changed, {}
    row.first_at, row.last_at = _times(found, loop)
    if found.kind == "procedure" and len(found.steps) > 2:
        row.head = finding_key("procedure", found.agent_id, found.steps[:-1])
        row.tail = finding_key("procedure", found.agent_id, found.steps[1:])
    return row


def _times(found: Finding, loop: Loop) -> tuple[datetime, datetime]:
    """Return when a finding happened first and last, not after the last event of the session."""
    first_at, last_at = found.first_at or loop.at, found.last_at or loop.at
    return min(first_at, loop.latest), min(last_at, loop.latest)


def _count(row: Insight, found: Finding, loop: Loop) -> None:
    row.times += found.times
    row.worked += found.worked
    row.loops += 1
    durations = Counter({int(ms): number for ms, number in row.durations.items()}) + found.durations
    row.durations = {str(ms): durations[ms] for ms in sorted(durations)}
    row.median_ms = median(durations)
    first_at, last_at = _times(found, loop)
    row.first_at, row.last_at = min(row.first_at, first_at), max(row.last_at, last_at)


def _add_evidence(insights: Mapping[str, int], shown: Iterable[tuple[Loop, Finding]]) -> None:
    rows = [_evidence(insights[found.key], loop, found) for loop, found in shown]
    InsightEvidence.objects.bulk_create(rows, batch_size=BATCH_ROWS)
    sql.write(
        _SURPLUS.format(sql.in_list("insight_id"), EVIDENCE_MAX),
        [[sql.list_param(set(insights.values()))]],
    )


def _evidence(insight: int, loop: Loop, found: Finding) -> InsightEvidence:
    row = InsightEvidence(insight_id=insight, loop=loop.id, times=found.times, worked=found.worked)
    row.events, row.text = found.events, found.text
    return row
