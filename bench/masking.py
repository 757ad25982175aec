"""Masking of source text as tool results: MB/s alone, and ingest with masking as a ratio to ingest without.

python -m bench.masking [--megabytes 6] [--rounds 5]

The lines are tool results with 3,000 characters of this repository's source and documents each, one of a
hundred with a secret. Ingest is `recorder.ingest.commit.pipeline.record` in process, on SQLite; with and
without masking take turns in one run; the loops are those of `bench.pipeline`. All times are CPU times, but
for the last figure: events a second of two servers over HTTP.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from bench.pipeline import lines as loop_lines
from bench.support.ingest_ratio import ingest_ratio
from bench.support.machine import ROOT, loopscope, report

TEXT, BATCH, SECRET_EVERY = 3000, 100, 100
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "bench") as folder:
        os.environ |= {"LOOPSCOPE_DATA": folder, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django  # noqa: PLC0415  the folder must be known first

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        lines = _lines(options.megabytes * 1_000_000)
        rows = [
            *_alone(lines),
            *_ingest("tool results", lambda _: lines, options.rounds),
            *_ingest("loops", lambda name: list(loop_lines(name, 12, 30)), options.rounds),
            *_ingest("deltas", _deltas, options.rounds),
            *_ingest("partial results", _partial_results, options.rounds),
            _over_http(options.rounds),
        ]
    note = f"{len(lines):,} lines, {sum(map(len, lines)) / 1e6:.1f} MB; one of {SECRET_EVERY} has a secret."
    report("Masking", note, ("figure", "value"), rows)


def _lines(size: int) -> list[bytes]:
    names = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.html", "*.css"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    lines: list[bytes] = []
    total = 0
    for name in names:
        text = Path(ROOT, name).read_text(encoding="utf-8")
        for at in range(0, len(text), TEXT):
            secret = f"\n{SECRET}\n" if len(lines) % SECRET_EVERY == 0 else ""
            lines.append(_tool_result(len(lines), text[at : at + TEXT] + secret))
            total += len(lines[-1])
            if total >= size:
                return lines
    return lines


def _tool_result(number: int, text: str) -> bytes:
    event = {
        "type": "ToolExecutionEnd",
        "loop_id": "s.a.1",
        "tool_call_id": f"c{number}",
        "tool_name": "read",
        "result": {"content": [{"type": "text", "text": text}]},
        "is_error": False,
    }
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


def _deltas(name: str) -> list[bytes]:
    """Return the lines of a loop whose answer is a document in deltas of 12 characters, and then whole."""
    text = Path(ROOT, "docs", "architecture.md").read_text(encoding="utf-8")[:24_000]
    loop = {"loop_id": f"{name}.a.1"}
    whole = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    empty = {"role": "assistant", "content": []}
    began = {"agent_id": "a", "session_id": name, "timestamp": "2026-01-01T00:00:00Z"}
    events = [
        {"type": "AgentStart", **loop, **began},
        {"type": "TurnStart", **loop, "turn_index": 0, "timestamp": "2026-01-01T00:00:00Z"},
        {"type": "MessageStart", **loop, "message": empty},
        *(
            {
                "type": "MessageUpdate",
                **loop,
                "message": empty,
                "delta": {"Text": {"delta": text[at : at + 12]}},
            }
            for at in range(0, len(text), 12)
        ),
        {"type": "MessageEnd", **loop, "message": whole},
    ]
    return [json.dumps(event, separators=(",", ":")).encode() for event in events]


def _partial_results(name: str) -> list[bytes]:
    """Return the lines of 20 calls that report their output so far 40 times, up to 12,000 characters."""
    text = Path(ROOT, "recorder", "ingest", "commit", "writer.py").read_text(encoding="utf-8")[:12_000]
    call = {"loop_id": f"{name}.a.1", "tool_name": "bash"}
    events: list[dict[str, Any]] = []
    for number in range(20):
        call["tool_call_id"] = f"c{number}"
        results = [{"content": [{"type": "text", "text": text[: 300 * (at + 1)]}]} for at in range(40)]
        events.append({"type": "ToolExecutionStart", **call, "args": {}})
        events += [{"type": "ToolExecutionUpdate", **call, "partial_result": each} for each in results]
        events.append({"type": "ToolExecutionEnd", **call, "result": results[-1], "is_error": False})
    return [json.dumps(event, separators=(",", ":")).encode() for event in events]


def _alone(lines: Sequence[bytes]) -> list[tuple[str, str]]:
    from recorder.masking.catalogue import CANDIDATES  # noqa: PLC0415
    from recorder.masking.masker import Masker  # noqa: PLC0415
    from recorder.masking.matcher import OwnPattern, RuleSettings, compile_rules  # noqa: PLC0415

    every = frozenset(rule.name for rule in CANDIDATES)
    own = (OwnPattern("ticket", r"\b[A-Z]{3}-[0-9]{4,}\b"),)
    kinds = {
        "definite rules": RuleSettings(),
        "with all candidate rules": RuleSettings(on=every),
        "definite rules and one own pattern": RuleSettings(patterns=own),
    }
    size, rows = sum(map(len, lines)), []
    for name, settings in kinds.items():
        masker = Masker(compile_rules(settings), b"k" * 32)
        masks = sum(sum(masker.mask(line).counts.values()) for line in lines)
        seconds = min(_seconds(partial(_each, masker.mask, lines)) for _ in range(3))
        rows.append((f"{name}: MB/s; masks", f"{size / seconds / 1e6:.0f}; {masks}"))
    seconds = min(_seconds(partial(_each, json.loads, lines)) for _ in range(3))
    return [*rows, ("for comparison: json.loads, MB/s", f"{size / seconds / 1e6:.0f}")]


def _each(each: Callable[[bytes], Any], lines: Sequence[bytes]) -> None:
    for line in lines:
        each(line)


def _seconds(run: Callable[[], Any]) -> float:
    began = process_time()
    run()
    return process_time() - began


def _ingest(what: str, lines_of: Callable[[str], Sequence[bytes]], rounds: int) -> list[tuple[str, str]]:
    from recorder.ingest.commit import pipeline  # noqa: PLC0415
    from recorder.journal.streams.open_streams import Masked, OpenStreams  # noqa: PLC0415
    from recorder.models import Project  # noqa: PLC0415

    project = Project.objects.get_or_create(slug="bench")[0].pk
    seams = {
        "with": (pipeline.masked, OpenStreams.take),
        "without": (lambda batch, _: batch, lambda _, __, raw, event, received: Masked(raw, event, received)),
    }
    ratios, rates = [], []
    for number in range(rounds):
        seconds = {}
        for name, seam in seams.items():
            pipeline.masked, OpenStreams.take = seam
            lines = lines_of(f"{name}-{number}")
            record = partial(_record, project, f"{what} {name} {number}", lines)
            seconds[name] = _seconds(record)
        ratios.append(seconds["with"] / seconds["without"])
        rates.append(sum(map(len, lines)) / seconds["with"] / 1e6)
    pipeline.masked, OpenStreams.take = seams["with"]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return [
        (f"ingest of {what}, CPU with masking : without", f"{median(ratios):.2f} ({spread})"),
        (f"ingest of {what} with masking, MB/s", f"{median(rates):.1f}"),
    ]


ALL_OFF = """
from recorder.masking import catalogue, project_rules
from recorder.masking.matcher import RuleSettings
from recorder.models import Project

off = frozenset(rule.name for rule in catalogue.DEFINITE)
project_rules.save(Project.objects.get(slug="default").pk, RuleSettings(off=off))
"""


def _over_http(rounds: int) -> tuple[str, str]:
    """Return the ratio of the events/s of a server with the definite rules to those of one with all off."""
    with loopscope() as (masking, _), loopscope() as (plain, server):
        server.manage("shell", "-c", ALL_OFF)
        ratios, rate = ingest_ratio(masking, plain, rounds)
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}; {rate:,.0f} events/s"
    return "ingest by HTTP, events/s with masking : without", f"{median(ratios):.2f} ({spread})"


def _record(project: int, producer: str, lines: Sequence[bytes]) -> None:
    from recorder.ingest.commit import pipeline  # noqa: PLC0415

    for at in range(0, len(lines), BATCH):
        pipeline.record([pipeline.Batch(project, producer, at, list(lines[at : at + BATCH]))])


if __name__ == "__main__":
    main()
