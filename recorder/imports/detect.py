"""Finds the files of an import and detects the format of each."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from loopscope_client.transcripts.files import last_write
from recorder.core.formats import registry
from recorder.core.formats.base import strip_sse_framing
from recorder.core.formats.registry import OTLP, TRANSCRIPTS
from recorder.imports import printed_output
from recorder.imports.gzip_file import OverBoundError, open_gzip
from recorder.imports.report import Report, UnusableError
from recorder.imports.stores import sqlite_snapshot

EVENT_NAMES = (".jsonl", ".ndjson", ".sse", ".jsonl.gz", ".ndjson.gz", ".gz")
SESSION_NAMES = (".json",)
BODY_NAMES = (".pb", ".pb.gz")
_BODY_KEYS = (b'"resourceSpans"', b'"resourceLogs"', b'"resourceMetrics"')
STORE_NAMES = (".db", ".sqlite", ".sqlite3")
HEAD_LINES = 20  # lines by which a transcript is recognised
_HEAD = 256 * 1024
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Recording:
    """A file to import."""

    path: Path
    kind: str  # a key of import_files.IMPORTERS
    size: int


def recordings(paths: list[Path], wanted: str, report: Report) -> list[Recording]:
    """Return the files to import, in order; files that are no recordings are added to the report.

    A folder of transcripts is the home of an agent, which also holds settings and histories: what is not
    recognised there is skipped. Its files are in order of their last write, others of their paths.
    """
    found: list[Recording] = []
    for path in paths:
        inside, unusable = [], []
        for file, is_named in _files(path, report):
            try:
                kind = _kind(file, wanted, is_named=is_named)
                inside.append(Recording(file, kind, file.stat().st_size))
            except _NoRecordingError:
                report.skipped += 1
            except UnusableError as error:
                unusable.append((file, str(error)))
            except OSError as error:
                report.problem(file, error.strerror or str(error))
        is_home = path.is_dir() and (
            wanted in TRANSCRIPTS or any(each.kind in TRANSCRIPTS for each in inside)
        )
        if is_home:
            recognised = [each for each in inside if wanted != "auto" or _is_recognised(each)]
            report.skipped += len(inside) - len(recognised) + len(unusable)
            inside, unusable = sorted(recognised, key=lambda each: last_write(each.path)), []
        found += inside
        for file, problem in unusable:
            report.problem(file, problem)
    return found


def _is_recognised(recording: Recording) -> bool:
    """Return whether the content of a file, and not only its name, says what it is."""
    if recording.kind not in ("native", "phi-session"):
        return True
    marks = (b'"session_id"', b'"loop_id"') if recording.kind == "phi-session" else (b'"type"',)
    head = _head(recording.path)
    return all(mark in head for mark in marks)


def opened(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed if it is gzip, whatever its name."""
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
    return open_gzip(path) if is_packed else path.open("rb")


def is_object(line: bytes) -> bool:
    """Return whether a line is a whole JSON object."""
    return _object(line) is not None


class _NoRecordingError(Exception):
    """A file of a folder that is not a recording."""


def _files(path: Path, report: Report) -> Iterator[tuple[Path, bool]]:
    """Yield the files of a path, and whether the path names the file itself."""
    if path.is_dir():
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        if not inside:
            report.problem(path, "the folder is empty")
        yield from ((each, False) for each in inside)
    elif path.exists():
        yield path, True
    else:
        report.problem(path, "there is no such file or folder")


def _kind(path: Path, wanted: str, *, is_named: bool) -> str:  # noqa: C901  one arm a kind of file
    name = path.name.lower()
    if ".json.tmp." in name or name.endswith((".json.lock", ".tar.gz", ".meta.json")):
        raise _NoRecordingError
    by_name: str | None = (
        "phi-session" if name.endswith(SESSION_NAMES) else "native" if name.endswith(EVENT_NAMES) else None
    )
    if name.endswith(BODY_NAMES) and wanted in ("auto", OTLP):
        return OTLP
    if by_name is None and not is_named and not name.endswith(STORE_NAMES):
        raise _NoRecordingError
    head = _head(path)
    if wanted == "auto" and head.lstrip()[:1] == b"{" and any(key in head for key in _BODY_KEYS):
        return OTLP
    if head.startswith(sqlite_snapshot.MAGIC):
        kind = sqlite_snapshot.kind_of(path)
        if wanted not in ("auto", kind):
            if not is_named and wanted in TRANSCRIPTS:
                raise _NoRecordingError
            raise UnusableError(f"a store of {kind.removesuffix('-db')}, which is not {wanted}")
        return kind
    if wanted.endswith("-db"):
        raise UnusableError("not a SQLite store")
    if wanted in TRANSCRIPTS and not is_named and _transcript(head) != wanted:
        raise _NoRecordingError
    if wanted != "auto":
        return wanted
    return _by_content(head, by_name)


def _head(path: Path) -> bytes:
    try:
        with opened(path) as file:
            head = file.read(_HEAD)
    except (EOFError, zlib.error, OverBoundError):
        head = _readable_head(path)
    if not head.strip():
        raise UnusableError("the file has no readable content")
    if b"\x00" in head and not head.startswith(sqlite_snapshot.MAGIC):
        raise UnusableError("not a text file; give event files (.jsonl, .jsonl.gz) or session files (.json)")
    return head


def _readable_head(path: Path) -> bytes:
    """Return the readable beginning of a damaged gzip file."""
    with path.open("rb") as file:
        try:
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(file.read(_HEAD), _HEAD)
        except zlib.error:
            return b""


def _by_content(head: bytes, by_name: str | None) -> str:
    lines = [line for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    if by_name == "phi-session" or lines[0].strip() in (b"{", b"[", b"[{") or lines[0].startswith(b"["):
        return "phi-session"
    objects = [each for each in map(_object, map(strip_sse_framing, lines)) if each is not None]
    if not objects and len(head) < _HEAD:
        raise UnusableError("no line is a JSON object; an event file has one event a line, such as "
                       '{"type":"AgentStart",…}')  # fmt: skip
    if transcript := _transcript(head):
        return transcript
    first = objects[0] if objects else {}
    if "loops" in first and "session_id" in first:
        return "phi-session"
    return _by_writer(first)


def _object(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _transcript(head: bytes) -> str | None:
    """Return the coding agent whose transcript a file begins as, by one of its first lines."""
    lines = [line for line in head.split(b"\n")[:HEAD_LINES] if line.strip()]
    found = (registry.detect(each) for line in lines if (each := _object(line)) is not None)
    return next((name for name in found if name in TRANSCRIPTS), None)


def _by_writer(first: dict[str, object]) -> str:
    """Detect an event file by its first event."""
    if form := registry.detect(first):
        return form
    kind = first.get("type")
    if (instead := printed_output.advice(first)) is not None:
        raise UnusableError(instead)
    if isinstance(kind, str) and kind[:1].islower():
        raise UnusableError(
            f"its first event is {kind!r}, of an unknown runtime. If it is a native event, "
            f"import the file with --format native; else name its format: {', '.join(registry.SENT[1:])}"
        )
    return "native"
