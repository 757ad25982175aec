"""Finds the files of an import and detects the format of each."""

from __future__ import annotations

import json
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from loopscope_client.transcripts.bad_lines import whole_lines
from loopscope_client.transcripts.documents import is_bare_head
from loopscope_client.transcripts.files import (
    JSON_STORE,
    Skipped,
    json_stores,
    last_write,
    outside,
    refusal,
    walk,
)
from recorder.core.formats import registry
from recorder.core.formats.base import strip_sse_framing
from recorder.core.formats.registry import TRANSCRIPTS
from recorder.core.sources import OTLP
from recorder.imports import sqlite_snapshot
from recorder.imports.gzip_file import OverBoundError, opened
from recorder.imports.report import Report, UnusableError
from recorder.imports.transcripts import printed_output
from recorder.imports.transcripts.file_cache import FileCache

EVENT_NAMES = (".jsonl", ".ndjson", ".sse", ".jsonl.gz", ".ndjson.gz", ".gz", ".jsonl.zst")
SESSION_NAMES = (".json",)
BODY_NAMES = (".pb", ".pb.gz")
_BODY_KEYS = (b'"resourceSpans"', b'"resourceLogs"', b'"resourceMetrics"')
STORE_NAMES = (".db", ".sqlite", ".sqlite3")
_NAMES = EVENT_NAMES + SESSION_NAMES + BODY_NAMES + STORE_NAMES
HEAD_LINES = 20  # lines by which a transcript is recognised
_HEAD, _HEADS = 256 * 1024, 256  # bytes that are looked at, and how often they may be nothing but NUL
_CHAT = 4096  # bytes in which a chat of Gemini CLI names what it holds


@dataclass(frozen=True, slots=True)
class Recording:
    """A file to import."""

    path: Path
    kind: str  # a key of import_files.IMPORTERS
    size: int


def recordings(
    paths: list[Path], wanted: str, report: Report, cache: FileCache | None = None
) -> list[Recording]:
    """Return the files to import, in order; files that are no recordings are added to the report.

    A folder of transcripts is the home of an agent, which also holds settings and histories: what is not
    recognised there is skipped. Its files are in order of their last write, others of their paths. A file
    that the cache holds as it is now is not opened.
    """
    return [each for path in paths for each in _recordings(path, wanted, report, cache)]


def _recordings(path: Path, wanted: str, report: Report, cache: FileCache | None) -> list[Recording]:
    inside, unusable = [], []
    kinds = {wanted}
    for file, is_named in _files(path, report):
        try:
            if cache is not None and (known := cache.kind(file)) is not None:
                report.unchanged += 1
                kinds.add(known)
                continue
            kind = _kind(file, wanted, is_named=is_named)
            inside.append(Recording(file, kind, file.stat().st_size))
        except _NoRecordingError:
            report.skipped += 1
        except UnusableError as error:
            unusable.append((file, str(error)))
        except OSError as error:
            report.problem(file, error.strerror or str(error))
    kinds |= {each.kind for each in inside}
    if path.is_dir() and not kinds.isdisjoint(TRANSCRIPTS):  # the home of an agent
        recognised = [each for each in inside if wanted != "auto" or _is_recognised(each)]
        report.skipped += len(inside) - len(recognised) + len(unusable)
        return sorted(recognised, key=lambda each: last_write(each.path))
    for file, problem in unusable:
        report.problem(file, problem)
    return inside


def _is_recognised(recording: Recording) -> bool:
    """Return whether the content of a file, and not only its name, says what it is."""
    if recording.kind not in ("native", "phi-session"):
        return True
    marks = (b'"session_id"', b'"loop_id"') if recording.kind == "phi-session" else (b'"type"',)
    head = _head(recording.path)
    return all(mark in head for mark in marks)


class _NoRecordingError(Exception):
    """A file of a folder that is not a recording."""


def _files(path: Path, report: Report) -> Iterator[tuple[Path, bool]]:
    """Yield the files of a path, and whether the path names the file itself.

    A link that the path names is followed; those inside a folder are not, and are named.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        report.problem(path, "there is no such file or folder" if is_missing else str(error.strerror))
        return
    if stat.S_ISDIR(mode):
        folder = path.resolve() if path.is_symlink() else path
        older = json_stores(folder)
        has_store = any(folder.glob("opencode*.db"))  # to which they were moved
        skipped = [Skipped(each, JSON_STORE) for each in older if not has_store]
        inside = list(walk(folder, skipped))
        stored = [part for each in older for part in _parts(each)]
        inside = [each for each in inside if not any(each.is_relative_to(part) for part in stored)]
        for each in inside:
            if not (why := refusal(each)):
                yield each, False
            elif each.name.lower().endswith(_NAMES):
                skipped.append(Skipped(each, why))
        for left_out in outside(skipped, [path]):
            report.problem(left_out.path, left_out.why)
        if not inside and not skipped:
            report.problem(path, "the folder is empty")
    elif stat.S_ISREG(mode):
        yield path.resolve() if path.is_symlink() else path, True
    else:
        report.problem(path, "it is no file")


def _parts(store: Path) -> list[Path]:
    """Return the folders of an older OpenCode: its sessions, and messages and parts beside them."""
    if store.parent.name == "storage":
        return [store.parent]
    return [store.with_name(name) for name in ("session", "message", "part")]


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
    is_chat = wanted == "gemini-cli" and by_name == "phi-session" and _is_chat(head)
    if wanted in TRANSCRIPTS and not is_named and not is_chat and _transcript(head) != wanted:
        raise _NoRecordingError
    if wanted != "auto":
        return wanted
    return _by_content(head, by_name)


def _head(path: Path) -> bytes:
    try:
        with opened(path) as file:
            head = file.read(_HEAD)
            # A power failure leaves runs of NUL, of any length, in which nothing can be recognised.
            for _ in range(_HEADS):
                if head.strip(b"\x00") or not head:
                    break
                head = file.read(_HEAD)
    except (EOFError, zlib.error, OverBoundError):
        head = _readable_head(path)
    if not head.strip(b"\x00\t\n\r "):
        raise UnusableError("the file has no readable content")
    return head


def _readable_head(path: Path) -> bytes:
    """Return the readable beginning of a damaged gzip file."""
    with path.open("rb") as file:
        try:
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(file.read(_HEAD), _HEAD)
        except zlib.error:
            return b""


def _by_content(head: bytes, by_name: str | None) -> str:
    lines = _lines(head)
    if by_name == "phi-session" and _is_chat(head):
        return "gemini-cli"
    first = lines[0] if lines else b""
    if by_name == "phi-session" or first.strip() in (b"{", b"[", b"[{") or first.startswith(b"["):
        return "phi-session"
    objects = [each for each in map(_object, map(strip_sse_framing, lines)) if each is not None]
    if not objects and b"\x00" in head:
        raise UnusableError("not a text file; give event files (.jsonl, .jsonl.gz) or session files (.json)")
    if not objects and len(head) < _HEAD:
        raise UnusableError("no line is a JSON object; an event file has one event a line, such as "
                       '{"type":"AgentStart",…}')  # fmt: skip
    if transcript := _transcript(head):
        return transcript
    first_object = objects[0] if objects else {}
    if "loops" in first_object and "session_id" in first_object:
        return "phi-session"
    return _by_writer(first_object)


def _lines(head: bytes) -> list[bytes]:
    """Return the first lines, what stands on a damaged one apart; the last one may be cut."""
    lines = (line for line in head.split(b"\n") if line.strip())
    found = [each for line in islice(lines, HEAD_LINES) for each in whole_lines(line)]
    return [line for line in found if line.strip(b"\x00")]


def _is_chat(head: bytes) -> bool:
    """Return whether a document begins as a chat of Gemini CLI before 0.39, which is one document."""
    return all(mark in head[:_CHAT] for mark in (b'"sessionId"', b'"projectHash"', b'"messages"'))


def _object(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _transcript(head: bytes) -> str | None:
    """Return the coding agent whose transcript a file begins as, by one of its first lines."""
    lines = _lines(head)
    if lines and is_bare_head(lines[0]):
        return "codex"
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
