"""Reads recorded bodies, lines, transcripts and stores that are damaged at random.

A case is a door and a number, which repeats it. It takes a file of `tests/tapes`, damages it (bytes, lines or
values in its JSON) and reads it as the door does, without a database. Nothing may raise but what the door
refuses with, take long, or grow. Each event that a reader makes is a valid one, and its state survives JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import django

django.setup()

from loopscope_client.transcripts import opencode  # noqa: E402  Django first
from recorder.core.formats import InvalidLineError, base, native  # noqa: E402
from recorder.core.formats.otlp.spans.reading import read_item  # noqa: E402
from recorder.core.formats.otlp.unit import Unit  # noqa: E402
from recorder.core.formats.registry import READERS, TRANSCRIPTS  # noqa: E402
from recorder.ingest.otlp import bodies  # noqa: E402
from tests.faults.fuzz.damage import damaged_bytes, damaged_json  # noqa: E402

TAPES = Path(__file__).parents[2] / "tapes"
AT = datetime(2026, 11, 2, 9, tzinfo=UTC)
CPU_S = 5.0  # of one case; a body or a file of the tapes takes milliseconds
GROWTH_MIB = 256  # of the process, over all cases
LINES_MAX = 400  # of one file
REFUSALS = (InvalidLineError, bodies.Unreadable, bodies.TooLarge, sqlite3.Error)


def body(rng: random.Random) -> None:
    """Read an OTLP body, and the spans of it that are lines."""
    path = rng.choice(_files("otlp", (".pb", ".json", ".gz")))
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    signal = next((each for each in ("logs", "metrics") if each in path.name), "traces")
    is_json = ".json" in path.name
    content = damaged_json(content, rng) if is_json and rng.random() < 0.7 else damaged_bytes(content, rng)
    found = bodies.lines_of(signal, content, is_json=is_json).lines  # type: ignore[arg-type]
    unit, items = Unit(), {}
    for number, each in enumerate(found[:LINES_MAX]):
        fields = base.parse(each).fields
        if fields is not None:
            items[number] = read_item(fields, each)
            items[number].digest.line = number
            unit.add(items[number].digest)
    unit.is_silent = rng.random() < 0.5
    for event in unit.new_events(lambda digest: items[digest.line]):
        _check(event)


def line(rng: random.Random) -> None:
    """Read lines of native events."""
    path = rng.choice(_files("", (".events.jsonl", "bad_inputs_sample.jsonl")))
    lines = path.read_bytes().splitlines()
    for each in rng.choices(lines, k=20):
        try:
            native.parse(damaged_json(each, rng) if rng.random() < 0.5 else damaged_bytes(each, rng))
        except InvalidLineError:
            continue


def transcript(rng: random.Random) -> None:
    """Read the lines of a transcript, or of another format, with the state as JSON now and then."""
    form = rng.choice([*TRANSCRIPTS, "cagent", "grida"])
    lines = _transcript(form, rng)[:LINES_MAX]
    _damage(lines, rng)
    reader = READERS[form](None, "key", lambda _session: 1)
    for each in lines:
        try:
            fields = base.parse(each).fields
            translated = [] if fields is None else reader.read(fields, AT).events
        except InvalidLineError:
            continue
        for event in translated:
            _check(event)
        if rng.random() < 0.1:
            reader = READERS[form](json.loads(json.dumps(reader.state)), "key", lambda _session: 1)
    for event in reader.end_of_stream(AT):
        _check(event)


def store(rng: random.Random) -> None:
    """Read a store of OpenCode whose file is damaged."""
    path = rng.choice(_files("opencode", (".db",)))
    with tempfile.TemporaryDirectory(prefix="loopscope-fuzz-") as folder:
        copy = Path(folder) / "opencode.db"
        copy.write_bytes(damaged_bytes(path.read_bytes(), rng))
        opened = opencode.opened(copy)
        try:
            for _, lines in opencode.sessions(opened):
                for each in lines:
                    base.parse(each)
        finally:
            opened.close()


DOORS: dict[str, Callable[[random.Random], None]] = {
    "body": body,
    "line": line,
    "transcript": transcript,
    "store": store,
}


@cache
def _files(folder: str, ends: tuple[str, ...]) -> list[Path]:
    found = sorted(path for path in (TAPES / folder).rglob("*") if path.name.endswith(ends))
    return [path for path in found if path.name not in ("expected.json", "EXPECT.json")]


def _transcript(form: str, rng: random.Random) -> list[bytes]:
    """Return the lines of a recorded file of a format."""
    if form == "opencode":
        with_lines = opencode.opened(rng.choice(_files("opencode", (".db",))))
        try:
            return [each for _, lines in opencode.sessions(with_lines) for each in lines]
        finally:
            with_lines.close()
    files = _files(form, (".jsonl", ".sse"))
    prefix = {"claude-code": "cc", "codex": "cx", "gemini-cli": "gm", "pi": "pi"}.get(form)
    if prefix:
        cases = _files("field-cases/transcripts", (".jsonl",))
        files = files + [path for path in cases if path.parent.name.startswith(prefix)]
    return rng.choice(files).read_bytes().splitlines()


def _damage(lines: list[bytes], rng: random.Random) -> None:
    """Remove, repeat, reorder or damage some lines."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        match rng.randint(0, 5):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(rng.randrange(len(lines)), lines[at])
            case 2:
                rng.shuffle(lines)
            case 3:
                lines[at] = damaged_bytes(lines[at], rng)
            case _:
                lines[at] = damaged_json(lines[at], rng)


def _check(event: base.Fields) -> None:
    """Raise ValueError unless a translated event is a valid one."""
    try:
        native.parse(base.encode_event(event), limits=native.NO_LIMITS)
    except InvalidLineError as error:
        raise ValueError(f"a reader made a bad {event.get('type')}: {error.code} {error.path}") from None


def failure(door: str, number: int) -> str:
    """Run one case; return why it failed, with the place in our code, "" for success."""
    rng = random.Random(f"{door} {number}")
    began = time.process_time()
    try:
        DOORS[door](rng)
    except REFUSALS:
        pass
    except Exception as error:  # noqa: BLE001  whatever a door does not refuse is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error!s:.200} ({Path(place.filename).name}:{place.lineno})"
    took = time.process_time() - began
    return f"took {took:.1f} s of CPU" if took > CPU_S else ""


def run(doors: list[str], seconds: float, first: int) -> Iterator[tuple[str, int, str]]:
    """Yield door, number and failure of each case for some seconds, the doors in turn."""
    until, number = time.monotonic() + seconds, first
    while time.monotonic() < until:
        for door in doors:
            yield door, number, failure(door, number)
        number += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--door", choices=DOORS, action="append", help="this one alone; may be repeated")
    parser.add_argument("--first", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--case", type=int, help="run this number alone, with its traceback")
    options = parser.parse_args()
    doors = options.door or list(DOORS)
    if options.case is not None:
        for door in doors:
            DOORS[door](random.Random(f"{door} {options.case}"))
        return 0
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cases, seen = Counter[str](), Counter[tuple[str, str]]()
    for door, number, why in run(doors, options.seconds, options.first):
        cases[door] += 1
        if why and not seen[door, why]:
            print(json.dumps({"door": door, "case": number, "failure": why}), flush=True)
        seen[door, why] += bool(why)
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident) // 1024
    found = sum(seen.values())
    print(json.dumps({"first": options.first, "cases": cases, "failed": found, "grown_mib": grown_mib}))
    return 1 if found or grown_mib > GROWTH_MIB else 0


if __name__ == "__main__":
    sys.exit(main())
