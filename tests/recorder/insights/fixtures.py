"""Insights of a project in a form independent of keys, and loops that produce insights."""

from recorder.models import Insight, InsightEvidence, JournalEvent, LoopRecord, ReadLoop
from tests.support import build

COLUMNS = (
    "kind", "agent_id", "is_demo", "about", "statement", "is_changed", "is_part", "times", "worked", "loops",
    "median_ms", "first_at", "last_at", "dismissed_by",
)  # fmt: skip


def learned(project):
    """Return every insight with its evidence, which loops were read, and which lines are marked."""
    lines = {
        pk: f"{producer}/{seq}/{kind}"
        for pk, producer, seq, kind in JournalEvent.objects.filter(project=project).values_list(
            "pk", "producer__name", "seq", "kind"
        )
    }
    loops = {
        pk: f"{session}/{loop}#{run}"
        for pk, session, loop, run in LoopRecord.objects.filter(session__project=project).values_list(
            "pk", "session__session_id", "loop_id", "run"
        )
    }
    read = ReadLoop.objects.filter(project=project)
    marked = JournalEvent.objects.filter(project=project, consolidated_at__isnull=False)
    return (
        sorted(_insight(row, loops, lines) for row in Insight.objects.filter(project=project)),
        sorted((loops[row.loop], row.facts) for row in read),
        sorted(lines[pk] for pk in marked.values_list("pk", flat=True)),
    )


def _insight(row, loops, lines):
    values = [str(getattr(row, name)) for name in COLUMNS]
    evidence = InsightEvidence.objects.filter(insight=row)
    shown = sorted(
        f"{loops[each.loop]} {each.times} {each.worked} {each.text} {[lines[line] for line in each.events]}"
        for each in evidence
    )
    return " | ".join([*values, str(row.steps), str(row.durations), *shown])


def working(loop, *calls, agent="coder", ended=True, **start):
    """Return the events of a loop that calls tools: "edit", "test!" fails, "edit a.py" is about a file."""
    events = [build.agent_start(loop, agent_id=agent, **start), build.turn_start(loop)]
    for at, call in enumerate(calls):
        name, _, subject = call.rstrip("!").partition(" ")
        is_error = call.endswith("!")
        result = {
            "content": [{"type": "text", "text": f"E   ValueError: bad line {at}" if is_error else "ok"}]
        }
        args = {"path": subject} if subject else {"command": name}
        began, ended_at = build.time(at), build.time(at + 0.5)
        events += [
            build.tool_start(loop, f"c{at}", name, args, timestamp=began),
            build.tool_end(loop, f"c{at}", name, is_error=is_error, timestamp=ended_at) | {"result": result},
        ]
    return [*events, build.turn_end(loop), build.agent_end(loop)] if ended else events
