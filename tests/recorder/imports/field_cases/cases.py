"""Transcripts of shapes that were reported of coding agents, and what the records of each must show.

A case is a folder: transcripts as the agent writes them, and `EXPECT.json` with the source of the case and
the expected values.
"""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from django.db.models import Sum

from loopscope_client.transcripts import opencode
from loopscope_client.transcripts.agent_meta import meta_line
from loopscope_client.transcripts.files import producer_name
from recorder.imports.detect import recordings
from recorder.imports.import_files import import_files
from recorder.imports.report import Report
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.models import (
    Anomaly,
    ChildLoopRef,
    Compaction,
    EventRecord,
    JournalEvent,
    LoopRecord,
    Session,
    Spending,
    ToolCall,
    Turn,
)

FOLDER = Path(__file__).parents[3] / "tapes" / "field-cases" / "transcripts"
CASES = sorted(path.parent.name for path in FOLDER.glob("*/*/EXPECT.json"))


@dataclass(frozen=True)
class Stream:
    """The lines of one file of a case, and the producer under which they are sent."""

    name: str
    producer: str
    lines: list[bytes]


def folder(case):
    return FOLDER / case[:3] / case


def expected(case):
    return json.loads((folder(case) / "EXPECT.json").read_text())


def form_of(case):
    return expected(case)["format"]


def streams(case):
    """Return the streams of a case, in the order in which their files began."""
    found = []
    for path in sorted(folder(case).rglob("*")):
        if path.suffix == ".db":
            found += _sessions_of(path)
        elif path.suffix == ".jsonl" and path.name != "journal.jsonl":
            lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
            name = producer_name(form_of(case), path.name, lines[0])
            found.append(
                Stream(path.name, name, [*filter(None, [meta_line(form_of(case), path, lines[0])]), *lines])
            )
    return sorted(found, key=_began)


def _sessions_of(path):
    with closing(sqlite3.connect(path)) as store:
        return [
            Stream(session, opencode.session_producer(session), lines)
            for session, lines in opencode.sessions(store, with_running=True)
        ]


def _began(stream):
    for line in stream.lines:
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        at = fields.get("timestamp") or fields.get("startTime") or str(fields.get("time_created") or "")
        if at:
            return at
    return ""


def imported(project, *paths):
    """Import files; return the report."""
    report = Report()
    found = recordings(list(paths), "auto", report)
    import_files(project, found, report, lambda size, label: None, flush=True)
    return report


def send(project, stream, form, start=0, end=None):
    """Send lines of a stream."""
    lines = stream.lines[start:end]
    return ingest(Batch(project.pk, stream.producer, start, lines, form))


def flush(project, stream, form):
    ingest(Batch(project.pk, stream.producer, None, [], form, flush=True))


def figures(project):
    """Return what the records of a project show, in the words of EXPECT.json."""
    sessions = list(Session.objects.filter(project=project).order_by("created_at", "session_id"))
    loops = list(LoopRecord.objects.filter(session__project=project).order_by("started_at", "id"))
    tools = ToolCall.objects.filter(loop__session__project=project)
    compactions = Compaction.objects.filter(loop__session__project=project).order_by("id")
    costs = [session.cost_nano for session in sessions if session.cost_nano is not None]
    turns = Turn.objects.filter(loop__session__project=project)
    linked = ChildLoopRef.objects.filter(loop__session__project=project, child__isnull=False)
    found = {
        "sessions": len(sessions),
        "loops": len(loops),
        "turns": sum(session.turns for session in sessions),
        "calls": sum(session.turns for session in sessions),
        "tools": sum(session.tool_calls for session in sessions),
        "errors": sum(session.errors for session in sessions),
        "out": sum(session.output_tokens for session in sessions),
        "in": sum(session.input_tokens for session in sessions),
        "cache_read": sum(session.cache_read_tokens for session in sessions),
        "rs": sum(session.reasoning_tokens for session in sessions),
        "models": sorted({turn.model for turn in turns if turn.model}),
        "compactions": len(compactions),
        "comp": next(([each.tokens_before, each.tokens_after] for each in compactions), None),
        "title": sessions[0].title if sessions else None,
        "titles": [each.title for each in (*sessions, *loops)],
        "loop_titles": [loop.title for loop in loops],
        "outcome": sessions[0].outcome if sessions else None,
        "outcomes": {session.outcome for session in sessions} | {loop.outcome for loop in loops},
        "linked": len({(each.loop_id, each.tool_call_id) for each in linked}),
        "depth": max(map(_depth, loops), default=0),
        "branch": any(loop.continuation_kind == "Branch" for loop in loops),
        "cost": float(Decimal(sum(costs)) / 10**9) if costs else None,
        "priced": not any(session.unpriced for session in sessions),
        "clean": not Anomaly.objects.filter(project=project).exists(),
        "waiting": sum(session.waiting for session in sessions) > 0,
        "ended": bool(sessions) and all(session.status not in ("running", "pending") for session in sessions),
        "toolended": not tools.filter(state__in=("running", "cut")).exists(),
        "noneg": all(loop.duration_ms is None or loop.duration_ms >= 0 for loop in loops)
        and all(tool.duration_ms is None or tool.duration_ms >= 0 for tool in tools),
        "sub": next((loop.title for loop in loops if loop.role == "sub_agent"), None),
        "child_end": all(loop.status == "completed" for loop in loops if loop.role == "sub_agent"),
        "prompts": prompts(project),
        "text": text(project),
    }
    return found | {"inp": found["in"], "cr": found["cache_read"]}


def contradictions(project):
    """Yield where the records of a project contradict each other."""
    for session in Session.objects.filter(project=project):
        loops = list(session.loop_records.all())
        for name in ("turns", "tool_calls", "errors", "output_tokens", "input_tokens", "waiting"):
            if getattr(session, name) != (total := sum(getattr(loop, name) for loop in loops)):
                yield f"{session.session_id}: {name} is {getattr(session, name)}, of its loops {total}"
        if (session.cost_nano or 0) != sum(loop.cost_nano or 0 for loop in loops):
            yield f"{session.session_id}: the costs of its loops differ"
        for loop in loops:
            turns = list(loop.turn_records.all())
            if not loop.is_one_call and loop.output_tokens != sum(turn.output_tokens for turn in turns):
                yield f"{loop.loop_id}: the tokens of its turns differ"
            if loop.turns != sum(turn.state == "done" for turn in turns):
                yield f"{loop.loop_id}: it has {loop.turns} turns"
    spent = Spending.objects.filter(project=project, span="hour").aggregate(nano=Sum("cost_nano"))["nano"]
    ended = Turn.objects.filter(loop__session__project=project, state="done")
    unlisted = LoopRecord.objects.filter(session__project=project, is_one_call=True)
    costs = [each.aggregate(nano=Sum("cost_nano"))["nano"] or 0 for each in (ended, unlisted)]
    if (spent or 0) != sum(costs):
        yield f"the rollups have a cost of {spent}"


def _depth(loop):
    found = 1
    while loop.parent is not None:
        loop, found = loop.parent, found + 1
    return found


def prompts(project):
    """Return how often each text is a message of the user."""
    found = {}
    for line in _messages(project):
        message = json.loads(line)["message"]
        if message.get("role") == "user":
            words = "\n".join(part["text"] for part in message["content"])
            found[words] = found.get(words, 0) + 1
    return found


def text(project):
    """Return all texts of the messages."""
    return b"\n".join([*_messages(project), *_of_type(project, "ToolExecutionStart")]).decode()


def _messages(project):
    return _of_type(project, "MessageEnd")


def _of_type(project, kind):
    rows = EventRecord.objects.filter(journal__project=project, type=kind, loop__isnull=False)
    found = texts(JournalEvent.objects.filter(id__in=rows.values("journal_id")).values_list("id", flat=True))
    return [found[key] for key in sorted(found)]


def faults(found, wanted):
    """Yield the expected values that the figures of a project do not have."""
    for name, value in wanted.items():
        match name:
            case "outcome_not":
                is_right = value not in found["outcomes"]
            case "notitle":
                is_right = not any(value in title for title in found["titles"])
            case "text":
                is_right = value in found["text"]
            case "prompts":
                is_right = all(found["prompts"].get(words) == n for words, n in value.items())
            case "models" | "loop_titles":
                is_right = set(value) <= set(found[name])
            case "cost":
                is_right = found["cost"] is not None and abs(found["cost"] - value) < 1e-9
            case "live" | "import_only" | "rejected" | "after":
                is_right = True
            case _:
                is_right = found[name] == value
        if not is_right:
            yield f"{name}: {found.get(name)!r} is not {value!r}"
