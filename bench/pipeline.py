"""CPU time of the ingest hot path by stage: `recorder.ingest.commit.pipeline.record`, in process, on SQLite.

python bench/pipeline.py [--loops 40] [--turns 30] [--group 4] [--stored 1000000] [--profile]

Prints events/s and, by stage, CPU per 1,000 events (which is milliseconds an event). The database is on this
folder's disk with `synchronous=FULL`, as in production.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
USAGE = {
    "input": 900,
    "output": 150,
    "reasoning": 0,
    "cache_read": 450,
    "cache_write": 0,
    "total_tokens": 1050,
}
WORDS = "the tests pass now so this function returns what its caller asked for and nothing more ".split()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--loops", type=int, default=40)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--group", type=int, default=4, help="producers, and batches in one commit")
    parser.add_argument("--stored", type=int, default=0, help="events that are there before")
    parser.add_argument("--profile", action="store_true", help="print the functions that cost most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "bench") as folder:
        os.environ["LOOPSCOPE_DATA"] = folder
        os.environ.pop("DATABASE_URL", None)
        os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
        sys.path.insert(0, str(ROOT))
        _prepare()
        _run(options)


def _prepare() -> None:
    import django  # noqa: PLC0415  the folder must be known first

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)


def _run(options: argparse.Namespace) -> None:
    from recorder.ingest.commit.pipeline import record  # noqa: PLC0415
    from recorder.journal.batch import Batch  # noqa: PLC0415
    from recorder.models import Project  # noqa: PLC0415

    project = Project.objects.create(slug="bench").pk
    tapes = [list(lines(f"{n}", options.loops // options.group, options.turns)) for n in range(options.group)]
    groups = [
        [
            Batch(project, f"p{n}", at, tape[at : at + options.batch])
            for n, tape in enumerate(tapes)
            if at < len(tape)
        ]
        for at in range(0, max(map(len, tapes)), options.batch)
    ]
    record(groups[0])
    _fill(options.stored)
    cpu_of = _stages()
    profile = cProfile.Profile()
    if options.profile:
        profile.enable()
    wall, cpu = time.perf_counter(), time.process_time()
    for group in groups[1:]:
        record(group)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    profile.disable()
    _print(sum(len(batch.lines) for group in groups[1:] for batch in group), wall, cpu, cpu_of)
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def _fill(number: int) -> None:
    """Insert `number` more events into the first loop, before the measurement."""
    from django.db import connection  # noqa: PLC0415

    first = "(SELECT MIN(id) FROM recorder_{})".format
    lines = f"""INSERT INTO recorder_journalevent (project_id, producer_id, seq, kind, received_at, size, own)
        WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < %s)
        SELECT {first("project")}, {first("producer")}, 1000000000 + i, 'line', '2026-01-01', 300,
               ZEROBLOB(300) FROM k"""
    events = f"""INSERT INTO recorder_eventrecord (id, session_id, loop_id, loop_key, type, sequence, late)
        SELECT id, {first("session")}, {first("looprecord")}, '', 'MessageEnd', seq, 0
        FROM recorder_journalevent WHERE seq > 1000000000"""
    if number:
        with connection.cursor() as cursor:
            cursor.execute(lines, [number])
            cursor.execute(events)
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _print(events: int, wall: float, cpu: float, cpu_of: dict[str, float]) -> None:
    print(f"{events} events, {events / wall:,.0f} events/s, {cpu * 1000 / events:.4f} ms of CPU an event")
    cpu_of["commit and the rest"] = cpu - sum(cpu_of.values())
    for stage, seconds in cpu_of.items():
        print(f"  {stage:20} {seconds * 1000 / events:.4f}")


def _stages() -> dict[str, float]:
    """Time each stage; return the dict of their CPU seconds."""
    from recorder.core.recorder import Recorder  # noqa: PLC0415
    from recorder.ingest.commit import pipeline  # noqa: PLC0415
    from recorder.journal.append import Journal  # noqa: PLC0415
    from recorder.projection import store  # noqa: PLC0415

    cpu_of: dict[str, float] = {}
    _clock(cpu_of, "parse", pipeline, "_parsed")
    _clock(cpu_of, "keys", pipeline, "state_keys_of")
    _clock(cpu_of, "load", store, "load_state")
    _clock(cpu_of, "feed", Recorder, "feed")
    _clock(cpu_of, "save", store, "save")
    for name in ("__init__", "append", "write"):
        _clock(cpu_of, "journal", Journal, name)
    return cpu_of


def _clock(cpu_of: dict[str, float], stage: str, owner: Any, name: str) -> None:
    function: Callable[..., Any] = getattr(owner, name)
    cpu_of[stage] = 0.0

    def clocked(*args: Any, **kwargs: Any) -> Any:
        begun = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            cpu_of[stage] += time.thread_time() - begun

    setattr(owner, name, clocked)


def lines(name: str, loops: int, turns: int) -> Iterator[bytes]:
    """Yield phi-core lines of one producer: loops of turns, each a model call with two tools."""
    for n in range(loops):
        yield from _loop(f"bench-{name}-{n}", turns)


def _loop(session: str, turns: int) -> Iterator[bytes]:
    loop = f"{session}.anthropic.claude-sonnet-4-6.1"
    snapshot = {
        "model": "claude-sonnet-4-6",
        "provider": "anthropic",
        "config_id": "a",
        "thinking_level": "off",
    }
    prompt = {"role": "user", "content": _text(session, 400), "timestamp": 1_700_000_000_000}
    yield _line(
        "AgentStart", loop, agent_id="bench", session_id=session, parent_loop_id=None,
        continuation_kind="Initial", timestamp=_at(0), metadata=None, config_snapshot=snapshot,
    )  # fmt: skip
    messages: list[Any] = [prompt]
    for n in range(turns):
        yield _line("TurnStart", loop, turn_index=n, timestamp=_at(n), triggered_by="User")
        if n == 0:
            yield from _message(loop, prompt, prompt)
        yield from _turn(session, loop, n, messages)
    yield _line("AgentEnd", loop, messages=messages, usage=USAGE, timestamp=_at(turns), rejection=None)


def _turn(session: str, loop: str, n: int, messages: list[Any]) -> Iterator[bytes]:
    calls = [f"toolu_{session}_{n}_{k}" for k in range(2)]
    arguments = {call: {"input": _words(call, 300)} for call in calls}
    tool_calls = [{"type": "toolCall", "id": c, "name": "bash", "arguments": arguments[c]} for c in calls]
    head = {
        "role": "assistant",
        "stopReason": "toolUse",
        "model": "claude-sonnet-4-6",
        "provider": "anthropic",
    }
    answer = {**head, "content": [*_text(f"{session}{n}", 1200), *tool_calls], "usage": USAGE, "timestamp": n}
    yield from _message(loop, {**head, "content": [], "usage": USAGE, "timestamp": n}, answer)
    results = []
    for call in calls:
        about = {"tool_call_id": call, "tool_name": "bash"}
        result = {
            "role": "toolResult",
            "toolCallId": call,
            "toolName": "bash",
            "content": _text(call + "r", 500),
        }
        results.append(result | {"isError": False, "timestamp": n})
        yield _line("ToolExecutionStart", loop, **about, args=arguments[call])
        got = {"content": result["content"], "details": None}
        yield _line("ToolExecutionEnd", loop, **about, result=got, is_error=False)
        yield from _message(loop, results[-1], results[-1])
    yield _line("TurnEnd", loop, message=answer, usage=USAGE, timestamp=_at(n), tool_results=results)
    messages += [answer, *results]


def _message(loop: str, begun: Any, ended: Any) -> Iterator[bytes]:
    yield _line("MessageStart", loop, message=begun)
    yield _line("MessageEnd", loop, message=ended)


def _line(kind: str, loop: str, **fields: Any) -> bytes:
    event = {"type": kind, "loop_id": loop, **fields}
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


def _words(seed: str, size: int) -> str:
    return (seed + " " + " ".join(WORDS) * (size // 80 + 1))[:size]


def _text(seed: str, size: int) -> list[dict[str, str]]:
    return [{"type": "text", "text": _words(seed, size)}]


def _at(n: int) -> str:
    return f"2026-01-05T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000000000Z"


if __name__ == "__main__":
    main()
