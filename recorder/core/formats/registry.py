"""The list of formats, with the properties of the runtimes that write them.

To add a foreign format, add a reader module here, a tape in `tests/tapes/` and an entry in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from recorder.core.formats import cagent, grida
from recorder.core.formats.aidaemon import AidaemonReader
from recorder.core.formats.base import NextLoop, Reader
from recorder.core.formats.cagent.database_rows import CagentStoreReader
from recorder.core.formats.transcripts import claude_code, codex, gemini_cli, opencode, pi
from recorder.core.records import Json

Convention = Literal["beside", "inside"]  # are cached tokens counted beside `input`, or inside it
MakeReader = Callable[[Json, str, NextLoop], Reader]  # arguments: stored state, producer key, loop numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A line format and the runtime that writes it."""

    name: str  # as `format=` of the ingest endpoints and `--format` of imports name it
    source: str  # value of Session.source
    reader: MakeReader | None = None  # None: lines are native events
    runtime: str = ""  # name on pages; "" for native, which any program may write
    is_sent: bool = True  # accepted by ingest endpoints; False: import only
    usage_convention: Convention | None = None  # None: derived from the api or provider of a call
    is_transcript: bool = False  # files that a coding agent writes on its own
    is_merged: bool = False  # its sessions may also be sent as spans: both are one session
    is_subscribed: bool = False  # as a rule used under a subscription, and it reports no costs
    sends_total: bool = True  # False: `total_tokens` is a sum that the reader made
    detect: Callable[[Mapping[str, object]], bool] | None = (
        None  # recognises an event file by its first object
    )


NATIVE = "phi-core"
OTLP = "otlp"  # spans and log records; read by `recorder.journal.spans`, because a batch is read as a whole
CLIENT = "client"  # our Python client: native lines whose AgentStart says so

FORMATS: tuple[Format, ...] = (
    Format(name="native", source=NATIVE),
    Format(
        name="cagent",
        source="cagent",
        reader=cagent.CagentReader,
        runtime="cagent",
        usage_convention="beside",  # for all providers
        sends_total=False,
        detect=lambda first: first.get("type") in cagent.TRANSLATORS,
    ),
    Format(
        name="cagent-db",
        source="cagent",
        reader=CagentStoreReader,
        runtime="cagent",
        is_sent=False,
        usage_convention="beside",
        sends_total=False,
    ),
    Format(
        name="aidaemon",
        source="aidaemon",
        reader=AidaemonReader,
        runtime="aidaemon",
        usage_convention="beside",  # it reports no cached tokens
        sends_total=False,
        detect=lambda first: "event_type" in first and "data" in first,
    ),
    Format(
        name="grida",
        source="grida",
        reader=grida.GridaReader,
        runtime="Grida",
        detect=lambda first: first.get("type") in grida.EVENTS,
    ),
    *(
        Format(
            name=name,
            source=name,
            reader=reader,
            runtime=runtime,
            usage_convention="beside",
            sends_total=False,
            is_transcript=True,
            is_merged=name in ("claude-code", "codex", "gemini-cli"),
            is_subscribed=name in ("claude-code", "codex", "gemini-cli"),
            detect=detect,
        )
        for name, reader, runtime, detect in (
            ("codex", codex.CodexReader, "Codex", codex.detects),
            ("gemini-cli", gemini_cli.GeminiCliReader, "Gemini CLI", gemini_cli.detects),
            ("opencode", opencode.OpenCodeReader, "OpenCode", opencode.detects),
            ("pi", pi.PiReader, "pi", pi.detects),
            ("claude-code", claude_code.ClaudeCodeReader, "Claude Code", claude_code.detects),
        )
    ),
    Format(
        name=OTLP,
        source="otlp",
        runtime="OpenTelemetry",
        is_sent=False,  # it has endpoints of its own
        usage_convention="beside",
        sends_total=False,
    ),
)
TRANSCRIPTS: tuple[str, ...] = tuple(each.name for each in FORMATS if each.is_transcript)
MERGED: tuple[str, ...] = tuple(each.name for each in FORMATS if each.is_merged)
SENT: tuple[str, ...] = tuple(each.name for each in FORMATS if each.is_sent)
READERS: Mapping[str, MakeReader] = {each.name: each.reader for each in FORMATS if each.reader}
SOURCE_OF: Mapping[str, str] = {each.name: each.source for each in FORMATS}
SOURCES: tuple[str, ...] = tuple(dict.fromkeys((NATIVE, CLIENT, *SOURCE_OF.values())))
RUNTIMES: Mapping[str, str] = {CLIENT: ""} | {each.source: each.runtime for each in FORMATS}
CONVENTIONS: Mapping[str, Convention] = {
    each.source: each.usage_convention for each in FORMATS if each.usage_convention
}
# Formats whose end of stream may change the records of other producers: their transcripts share lines.
SETTLED = frozenset(("claude-code", "opencode", "pi"))
SUBSCRIBED = frozenset(each.source for each in FORMATS if each.is_subscribed)
WITHOUT_TOTAL = frozenset(each.source for each in FORMATS if not each.sends_total)


def detect(first: Mapping[str, object]) -> str | None:
    """Return the name of the foreign format of an event file, by its first object; None if unrecognised."""
    if isinstance(first.get("type"), list | dict):  # a type that is no text is none
        first = {name: value for name, value in first.items() if name != "type"}
    return next((each.name for each in FORMATS if each.detect and each.detect(first)), None)
