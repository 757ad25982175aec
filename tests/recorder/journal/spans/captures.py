"""Captured OTLP bodies, recorded as the endpoint records them, and what the records then show."""

import gzip
import json
from pathlib import Path

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.otlp.bodies import lines_of
from recorder.ingest.otlp.endpoint import PRODUCER
from recorder.models import LoopRecord, Session, ToolCall, Turn

TAPES = Path(__file__).parents[3] / "tapes" / "otlp"
CAPTURES = sorted(str(path.parent.relative_to(TAPES)) for path in TAPES.glob("*/*/*/expected.json"))
BUCKETS = ("input_uncached", "cache_read", "cache_write", "output", "reasoning")


def bodies(capture):
    """Return signal, body and whether it is JSON, of each body of a capture in order of arrival."""
    found = []
    for path in sorted((TAPES / capture).glob("[0-9]*")):
        body = path.read_bytes()
        if path.suffix == ".gz":
            body = gzip.decompress(body)
        signal = path.name.partition("-")[2].partition(".")[0]
        found.append((signal, body, ".json" in path.name))
    return found


def lines(capture):
    """Return the lines of each body of a capture."""
    return [lines_of(signal, body, is_json=is_json).lines for signal, body, is_json in bodies(capture)]


def record(project, batch):
    return ingest(Batch(project.pk, PRODUCER, None, batch, OTLP)) if batch else None


def expected(capture):
    return json.loads((TAPES / capture / "expected.json").read_text())


def totals(project):
    """Return the totals of a project's records in the words of `expected.json`."""
    turns = list(Turn.objects.filter(loop__session__project=project, state="done"))
    tools = ToolCall.objects.filter(loop__session__project=project)
    return {
        "sessions": Session.objects.filter(project=project).count(),
        "loops": LoopRecord.objects.filter(session__project=project).count(),
        "turns": len(turns),
        "tool_calls": tools.count(),
        "tool_errors": tools.filter(state="failed").count(),
        "turn_errors": sum(bool(turn.error) for turn in turns),
        "input_uncached": sum(turn.uncached_tokens or 0 for turn in turns),
        "cache_read": sum(turn.cache_read_tokens for turn in turns),
        "cache_write": sum(turn.cache_write_tokens for turn in turns),
        "output": sum(turn.output_tokens for turn in turns),
        "reasoning": sum(turn.reasoning_tokens for turn in turns),
    }


def shape(project):
    """Return all that does not depend on the order of arrival: sessions, loops, turns and tool calls."""
    found = []
    for session in Session.objects.filter(project=project).order_by("session_id"):
        figures = ("loops", "open_loops", "turns", "tool_calls", "errors", "sub_agents", "status", "outcome")
        sums = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_nano")
        about = {
            name: getattr(session, name)
            for name in (*figures, *sums, "agent_id", "created_at", "ended_at", "title")
        }
        loops = [_loop(loop) for loop in session.loop_records.order_by("started_at", "loop_id")]
        found.append({"session": session.session_id, **about, "loops": loops})
    return found


def _loop(loop):
    names = (
        *("loop_id", "agent_id", "status", "outcome", "error", "role", "started_at", "ended_at", "title"),
        *("turns", "tool_calls", "errors", "input_tokens", "output_tokens", "cost_nano", "cost_source"),
    )
    of_turn = (
        *("turn_index", "model", "provider", "error", "answer", "started_at", "ended_at"),
        *("uncached_tokens", "output_tokens", "tool_calls"),
    )
    turns = [
        {name: getattr(turn, name) for name in of_turn} for turn in loop.turn_records.order_by("ordinal")
    ]
    tools = [
        {
            name: getattr(tool, name)
            for name in ("tool_call_id", "tool_name", "state", "summary", "started_at")
        }
        for tool in loop.tool_records.order_by("started_at", "tool_call_id")
    ]
    return {
        **{name: getattr(loop, name) for name in names},
        "parent": loop.parent and loop.parent.loop_id,
        "refs": sorted(
            (ref.tool_call_id, (ref.child and ref.child.loop_id) or "") for ref in loop.child_refs.all()
        ),
        "turn_records": turns,
        "tools": tools,
    }


def differences(found, wanted, at=""):
    """Yield where two shapes differ, as text."""
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        for name in wanted:
            yield from differences(found[name], wanted[name], f"{at}.{name}")
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for place, pair in enumerate(zip(found, wanted, strict=True)):
            yield from differences(*pair, f"{at}[{place}]")
    elif found != wanted:
        yield f"{at}: {found!r} is not {wanted!r}"
