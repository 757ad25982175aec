"""Masks the deltas of one project within one transaction, with the state of their open streams.

A stream is the text of one kind in one loop of one producer, until its message ends. What may be the start
of a definite secret is left out of the stored delta and precedes the text of the next one; the event with the
whole message ends the stream, and the rest is dropped. cagent's messages do not repeat their text, so the
rest is added to the line that ends one (`HELD`).

Reports of a running tool (partial results, progress) are streams, too, one for each text of a call until the
call ends; what may be the start of a secret is masked in them, as they may be read without the next one.

The state is a row a loop, encrypted, as it holds the beginning of what may be a secret; it is written with
the lines. Hence streams survive restarts, and continue on other nodes. Only lines that are new change it: a
line is recognised as a duplicate by what was received.

Cost: one query and one write a batch with deltas, and the scans of `masking.streams` for each delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

from django.db.models import QuerySet

from recorder.core.events import Event, MessageUpdate, ProgressMessage, ToolExecutionUpdate
from recorder.core.formats import ForeignLine
from recorder.core.formats.base import object_field, text_field
from recorder.core.formats.base import parse as parse_foreign
from recorder.core.formats.cagent.turns import HELD
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.records import Json
from recorder.database import sql
from recorder.journal.batch import Received
from recorder.journal.delta.encoding import fingerprint
from recorder.journal.streams.delta_lines import (
    TEXTS,
    DeltaText,
    Path,
    blanked,
    delta_texts,
    replaced,
    strings_in,
    with_field,
)
from recorder.journal.streams.loop_streams import LoopStreams
from recorder.masking.masker import Masker
from recorder.masking.streams.partial import Partial
from recorder.masking.streams.seal import seal, unseal
from recorder.masking.streams.stream import Stream
from recorder.models import OpenStream, Producer

TABLE = "recorder_openstream"
STREAM_DAYS = 7  # without a delta, after which a message is taken for lost
REPORT_TEXTS = 32  # of one report; more are masked alone
Content = TypeVar("Content")
_ENDS = frozenset(("MessageStart", "MessageEnd", "AgentEnd"))
_REPORTS = frozenset(("ToolExecutionUpdate", "ProgressMessage"))
_NATIVE = _ENDS | _REPORTS | {"MessageUpdate", "ToolExecutionEnd"}
_CHOICES = frozenset(("agent_choice", "agent_choice_reasoning"))
_CAGENT_ENDS = frozenset(("stream_started", "stream_stopped", "message_added"))


class Masked(NamedTuple, Generic[Content]):
    """A line as it is stored, what it holds, and what recognises it if masking changed it."""

    raw: bytes
    content: Content
    received: Received | None


class OpenStreams:
    """The open streams that the lines of a transaction touch."""

    def __init__(self, project: int, masker: Masker) -> None:
        self._project = project
        self._masker = masker
        self._loops: dict[tuple[int, str], LoopStreams] = {}  # by producer, and the id of the loop

    def load(self, producer: Producer, lines: Iterable[object]) -> None:
        """Load the streams of some lines of a producer in one query, before `take`.

        The first lines of a producer continue the streams of another one, as senders without a name are a
        new producer with each request.
        """
        is_cagent = producer.format == "cagent"
        loops = {_session_of(line) if is_cagent else _loop_of(line) for line in lines}
        missing = [loop for loop in loops if loop is not None and (producer.pk, loop) not in self._loops]
        if not missing:
            return
        of_name = {key_of(self._project, loop): self._new(producer, loop) for loop in missing}
        rows = sql.read(
            f"""SELECT producer_id, stream, state FROM {TABLE}
                WHERE project_id = %s AND {sql.in_list("stream")} ORDER BY producer_id""",  # noqa: S608  names
            *(self._project, sql.list_param(list(of_name))),
        )
        for owner, name, state in rows:
            loop = of_name[name]
            if owner == producer.pk or producer.high < 0:
                loop.open(unseal(bytes(state), self._masker.sealing_key))
                loop.is_stored = owner == producer.pk
                loop.is_changed = not loop.is_stored

    def take(self, producer: Producer, raw: bytes, event: Event, received: Received | None) -> Masked[Event]:
        """Return a native line as it is stored."""
        if event.type == "Unread":
            return self._blank(raw, event, received)
        if event.type not in _NATIVE:
            return Masked(raw, event, received)
        loop = self._loop(producer, event.__dict__["loop_id"])
        if event.type in _ENDS:
            loop.end()
            if event.type == "AgentEnd":
                loop.end_reports()
        elif event.type == "ToolExecutionEnd":
            loop.end_reports(event.__dict__["tool_call_id"])
        elif isinstance(event, ToolExecutionUpdate | ProgressMessage):
            return self._take_report(loop, raw, event, received)
        elif isinstance(event, MessageUpdate):
            line = raw if received is None else received.line
            sent = event if received is None else parse(line, limits=NO_LIMITS)
            assert isinstance(sent, MessageUpdate)
            texts = self._pushed(loop, delta_texts(sent.delta))
            if isinstance(sent.message, dict) and sent.message.get("content"):
                texts |= self._cut(_content(sent.message["content"]))
            return self._native(raw, event, received, texts)
        return Masked(raw, event, received)

    def _take_report(
        self,
        loop: LoopStreams,
        raw: bytes,
        event: ToolExecutionUpdate | ProgressMessage,
        received: Received | None,
    ) -> Masked[Event]:
        line = raw if received is None else received.line
        sent = event if received is None else parse(line, limits=NO_LIMITS)
        if isinstance(sent, ProgressMessage):
            found: list[tuple[Path, str]] = [(("text",), sent.text)]
        else:
            assert isinstance(sent, ToolExecutionUpdate)
            strings = strings_in(sent.partial_result, ("partial_result",))
            found = [(path, text) for path, text in strings if path[-1] != "type"]
        texts: dict[Path, str] = {}
        for number, (path, text) in enumerate(found):
            place = "/".join(map(str, path))
            report = loop.report(sent.tool_call_id, place) if number < REPORT_TEXTS else Partial()
            is_output = path[0] == "partial_result" and path[-1] in TEXTS
            shown = report.push(self._masker, text, hides_words=is_output)
            if shown != text:
                texts[path] = shown
        return self._native(raw, event, received, texts)

    def _native(
        self, raw: bytes, event: Event, received: Received | None, texts: dict[Path, str]
    ) -> Masked[Event]:
        """Return a native line with other texts at some paths."""
        if not texts and received is None:
            return Masked(raw, event, received)
        line = raw if received is None else received.line
        changed = self._masked(line, texts)
        return Masked(changed, parse(changed, limits=NO_LIMITS), self._received(line, changed, received))

    def take_foreign(
        self, producer: Producer, raw: bytes, foreign: ForeignLine, received: Received | None
    ) -> Masked[ForeignLine]:
        """Return a foreign line as it is stored, before it is translated."""
        kind = foreign.fields.get("type") if foreign.fields else None
        if producer.format == "claude-code" and kind == "progress":
            return self._take_progress(raw, foreign, received)
        if producer.format != "cagent":
            return Masked(raw, foreign, received)
        if kind not in _CHOICES and kind not in _CAGENT_ENDS and kind != "partial_tool_call":
            return Masked(raw, foreign, received)
        line = raw if received is None else received.line
        sent = parse_foreign(line, limits=NO_LIMITS).fields or {}
        loop = self._loop(producer, text_field(sent, "session_id"))
        texts: dict[Path, str] = {}
        held: dict[str, str] = {}
        if kind in _CHOICES:
            texts = self._pushed(loop, [DeltaText(("content",), str(kind), text_field(sent, "content"))])
        elif kind == "partial_tool_call":  # all of the arguments so far
            function = object_field(object_field(sent, "tool_call"), "function")
            path = ("tool_call", "function", "arguments")
            texts = self._cut([(path, text_field(function, "arguments"))])
        else:
            if kind == "message_added":
                held = {name: each.rest(self._masker) for name, each in loop.streams.items() if each.held}
            loop.end()
        return self._foreign(raw, foreign, received, texts, held)

    def _take_progress(
        self, raw: bytes, foreign: ForeignLine, received: Received | None
    ) -> Masked[ForeignLine]:
        """Return a line with the output of a running command so far, which may end within a secret."""
        line = raw if received is None else received.line
        sent = parse_foreign(line, limits=NO_LIMITS).fields or {}
        texts: dict[Path, str] = {}
        for path, text in strings_in(sent.get("data"), ("data",)):
            shown = Partial().push(self._masker, text, hides_words=False)
            if shown != text:
                texts[path] = shown
        return self._foreign(raw, foreign, received, texts, {})

    def _foreign(
        self,
        raw: bytes,
        foreign: ForeignLine,
        received: Received | None,
        texts: dict[Path, str],
        held: dict[str, str],
    ) -> Masked[ForeignLine]:
        """Return a foreign line with other texts at some paths, and with what was held back of a message."""
        if not texts and not held and received is None:
            return Masked(raw, foreign, received)
        line = raw if received is None else received.line
        changed = self._masked(line, texts)
        if held:
            changed = with_field(changed, HELD, dict(held))
        return Masked(
            changed, parse_foreign(changed, limits=NO_LIMITS), self._received(line, changed, received)
        )

    def end_of_stream(self, producer: int) -> None:
        """Delete the open streams of a producer, by its primary key, as it sends no more."""
        self._loops = {key: loop for key, loop in self._loops.items() if key[0] != producer}
        sql.write(f"DELETE FROM {TABLE} WHERE producer_id = %s", [[producer]])  # noqa: S608  name

    def write(self, seen: Mapping[int, datetime]) -> None:
        """Write the streams that are open, and delete those that have ended.

        `seen` is by producer the time at which its last lines were received.
        """
        changed = {key: loop for key, loop in self._loops.items() if loop.is_changed}
        key, adapt = self._masker.sealing_key, sql.timestamp_encoder()
        sql.write(
            f"""INSERT INTO {TABLE} (project_id, producer_id, stream, state, changed_at)
                VALUES (%s, %s, %s, %s, %s) ON CONFLICT (project_id, stream, producer_id)
                DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at""",  # noqa: S608
            [
                (
                    *(self._project, producer, key_of(self._project, loop_id)),
                    *(seal(loop.dump(), key), adapt(seen[producer])),
                )
                for (producer, loop_id), loop in changed.items()
                if loop
            ],
        )
        sql.write(
            f"DELETE FROM {TABLE} WHERE project_id = %s AND stream = %s AND producer_id = %s",  # noqa: S608  name
            [
                (self._project, key_of(self._project, loop_id), producer)
                for (producer, loop_id), loop in changed.items()
                if loop.is_stored and not loop
            ],
        )
        for loop in changed.values():
            loop.is_changed, loop.is_stored = False, bool(loop)

    def _loop(self, producer: Producer, loop_id: str) -> LoopStreams:
        found = self._loops.get((producer.pk, loop_id))
        return self._new(producer, loop_id) if found is None else found

    def _new(self, producer: Producer, loop_id: str) -> LoopStreams:
        found = self._loops[producer.pk, loop_id] = LoopStreams()
        return found

    def _pushed(self, loop: LoopStreams, texts: Iterable[DeltaText]) -> dict[Path, str]:
        """Return the texts that differ from those that were sent, by path."""
        found = {}
        for path, name, text in texts:
            shown = loop.stream(name).push(self._masker, text)
            if shown != text:
                found[path] = shown
        return found

    def _cut(self, texts: Iterable[tuple[Path, str]]) -> dict[Path, str]:
        """Return texts that repeat all that was written so far without their tails, where they have one."""
        cut = ((path, text, Stream().push(self._masker, text)) for path, text in texts)
        return {path: shown for path, text, shown in cut if shown != text}

    def _masked(self, line: bytes, texts: dict[Path, str]) -> bytes:
        return self._masker.mask(replaced(line, texts) if texts else line).line

    def _received(self, line: bytes, changed: bytes, received: Received | None) -> Received | None:
        if received is not None or changed == line:
            return received
        return Received(fingerprint(line), self._masker.original(line), line)

    def _blank(self, raw: bytes, event: Event, received: Received | None) -> Masked[Event]:
        """Return a line that our code could not read, without its text if it may be a delta."""
        changed = blanked(raw)
        return Masked(changed, event, self._received(raw, changed, received))


def forget(project: int, loop_ids: Iterable[str]) -> None:
    """Delete the open streams of some loops, or sessions of cagent, whatever their producer."""
    sql.write(
        f"DELETE FROM {TABLE} WHERE project_id = %s AND stream = %s",  # noqa: S608  name
        [(project, key_of(project, loop_id)) for loop_id in loop_ids],
    )


def expire(before: datetime) -> int:
    """Delete the streams without a delta since a time; return how many."""
    return old(before).delete()[0]


def old(before: datetime) -> QuerySet[OpenStream]:
    """Return the streams without a delta since a time."""
    return OpenStream.objects.filter(changed_at__lt=before)


def key_of(project: int, loop_id: str) -> str:
    """Return the name of a loop's streams, 32 hex digits."""
    text = f"{project}:{loop_id}".encode(errors="surrogatepass")
    return blake2b(text, digest_size=16).hexdigest()


def _loop_of(line: object) -> str | None:
    if getattr(line, "type", None) in _NATIVE:
        return str(line.__dict__["loop_id"])
    return None


def _session_of(line: object) -> str | None:
    return text_field(line.fields, "session_id") if isinstance(line, ForeignLine) and line.fields else None


def _content(content: Json) -> Iterator[tuple[Path, str]]:
    for path, text in strings_in(content, ("message", "content")):
        if path[-1] in TEXTS or "arguments" in path:
            yield path, text
