"""The list of formats.

To add a foreign format, add a reader module here, a tape in `tests/tapes/`, an entry in `FORMATS` and one in
`recorder/core/sources.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from recorder.core.formats import cagent, grida
from recorder.core.formats.aidaemon import AidaemonReader
from recorder.core.formats.base import NextLoop, Reader
from recorder.core.formats.cagent.database_rows import CagentStoreReader
from recorder.core.formats.transcripts import claude_code, codex, gemini_cli, opencode, pi
from recorder.core.records import Json
from recorder.core.sources import NATIVE, OTLP

MakeReader = Callable[[Json, str, NextLoop], Reader]  # arguments: stored state, producer key, loop numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A line format and the runtime that writes it."""

    name: str  # as `format=` of the ingest endpoints and `--format` of imports name it
    source: str  # value of Session.source, one of `recorder.core.sources`
    reader: MakeReader | None = None  # None: lines are native events
    is_sent: bool = True  # accepted by ingest endpoints; False: import only
    is_transcript: bool = False  # files that a coding agent writes on its own
    # Recognises an event file by its first object.
    detect: Callable[[Mapping[str, object]], bool] | None = None


FORMATS: tuple[Format, ...] = (
    Format(name="native", source=NATIVE),
    Format(
        name="cagent",
        source="cagent",
        reader=cagent.CagentReader,
        detect=lambda first: first.get("type") in cagent.TRANSLATORS,
    ),
    Format(
        name="cagent-db",
        source="cagent",
        reader=CagentStoreReader,
        is_sent=False,
    ),
    Format(
        name="aidaemon",
        source="aidaemon",
        reader=AidaemonReader,
        detect=lambda first: "event_type" in first and "data" in first,
    ),
    Format(
        name="grida",
        source="grida",
        reader=grida.GridaReader,
        detect=lambda first: first.get("type") in grida.EVENTS,
    ),
    *(
        Format(
            name=name,
            source=name,
            reader=reader,
            is_transcript=True,
            detect=detect,
        )
        for name, reader, detect in (
            ("codex", codex.CodexReader, codex.detects),
            ("gemini-cli", gemini_cli.GeminiCliReader, gemini_cli.detects),
            ("opencode", opencode.OpenCodeReader, opencode.detects),
            ("pi", pi.PiReader, pi.detects),
            ("claude-code", claude_code.ClaudeCodeReader, claude_code.detects),
        )
    ),
    Format(
        name=OTLP,
        source=OTLP,
        is_sent=False,  # it has endpoints of its own
    ),
)
TRANSCRIPTS: tuple[str, ...] = tuple(each.name for each in FORMATS if each.is_transcript)
SENT: tuple[str, ...] = tuple(each.name for each in FORMATS if each.is_sent)
READERS: Mapping[str, MakeReader] = {each.name: each.reader for each in FORMATS if each.reader}
SOURCE_OF: Mapping[str, str] = {each.name: each.source for each in FORMATS}
# Formats whose end of stream may change the records of other producers: their transcripts share lines.
SETTLED = frozenset(("claude-code", "codex", "gemini-cli", "opencode", "pi"))


def detect(first: Mapping[str, object]) -> str | None:
    """Return the name of the foreign format of an event file, by its first object; None if unrecognised."""
    if isinstance(first.get("type"), list | dict):  # a type that is no text is none
        first = {name: value for name, value in first.items() if name != "type"}
    return next((each.name for each in FORMATS if each.detect and each.detect(first)), None)
