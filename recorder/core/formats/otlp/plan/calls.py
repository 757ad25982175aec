"""Spans that describe one model call, and log records that complete it.

Two spans are one call when one is a descendant of the other without an agent or tool between them; when they
share the provider's id of the response and overlap in time, as an id may come again from a cache or a local
model; or when a parentless span of the anthropic client lies inside the
other's time, with the same model and tokens. The outer one gives the structure, the others what it lacks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from recorder.core.formats.otlp.spans import usage
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.core.records import Json

Key = tuple[str, str]  # trace and span id
_UNNAMED = "unnamed-call-"
_UNNAMED_ID = re.compile(rf"{_UNNAMED}([0-9]+)-[0-9a-f]*")
_CLIENTS = frozenset(("anthropic",))  # clients that emit spans of their own beside a framework's
_SKEW_NS = 2_000_000_000  # clocks of two processes differ at most so much
_LATE_NS = 5_000_000_000  # a log record of a call is written at most so long after it


@dataclass(slots=True)
class Call:
    """One model call: the span that gives its structure, and what else describes it."""

    span: Digest
    others: list[Digest] = field(default_factory=list)
    notes: list[Digest] = field(default_factory=list)  # log records

    @property
    def sources(self) -> list[Digest]:
        """Return the spans and log records that may hold its content, the first one first."""
        return [self.span, *self.others, *self.notes]

    @property
    def usage(self) -> dict[str, int] | None:
        found = self.span.usage
        for other in self.others:
            found = usage.merged(found, other.usage)
        for note in self.notes:
            if note.usage is not None and (found is None or len(note.usage) > len(found)):
                found = note.usage
        return found

    @property
    def cost_nano(self) -> int:
        return max((each.cost_nano for each in self.sources), default=-1)

    @property
    def calls(self) -> list[list[str]]:
        """Return id and name of each tool call of the answer; one without an id gets one by its place."""
        found = next((each.calls for each in self.sources if each.calls), [])
        places = count()
        return [[call or f"{_UNNAMED}{next(places)}-{self.span.id}", name] for call, name in found]

    @property
    def results(self) -> list[list[Json]]:
        return next((each.results for each in self.sources if each.results), [])

    @property
    def new(self) -> str:
        return next((each.new for each in self.sources if each.new), "")

    def first(self, name: str) -> str:
        """Return the first text that a source has in a field."""
        return next((found for each in self.sources if (found := str(getattr(each, name)))), "")


def unnamed_place(call_id: str) -> int | None:
    """Return the place of a tool call among those without an id in its answer; None for another."""
    found = _UNNAMED_ID.fullmatch(call_id)
    return int(found[1]) if found else None


def key_of(digest: Digest) -> Key:
    return digest.trace, digest.id


def calls_of(spans: dict[Key, Digest], notes: Sequence[Digest]) -> list[Call]:
    """Return the model calls of some spans in order of their start; notes complete them."""
    models = [span for span in spans.values() if span.kind == "model"]
    outer = {key_of(span): _outer(span, spans) for span in models}
    _join_by_response(models, outer)
    _join_by_time(models, outer)
    calls = {key: Call(spans[key]) for key in outer if outer[key] == key}
    for key, of in outer.items():
        if key != of:
            calls[of].others.append(spans[key])
    ordered = sorted(calls.values(), key=lambda call: (call.span.start, call.span.end, call.span.id))
    if not ordered:
        ordered = _calls_of_notes(notes)
    _add_notes(ordered, notes)
    return ordered


def _outer(span: Digest, spans: dict[Key, Digest]) -> Key:
    """Return the key of the outermost model span above one, without an agent or tool between."""
    found, above, seen = span, span, {span.id}
    while (parent := spans.get((above.trace, above.parent))) is not None and parent.id not in seen:
        if parent.kind in ("agent", "tool"):
            break
        seen.add(parent.id)
        found = parent if parent.kind == "model" else found
        above = parent
    return key_of(found)


def _join_by_response(models: Sequence[Digest], outer: dict[Key, Key]) -> None:
    of_response: dict[str, list[Digest]] = defaultdict(list)
    for span in models:
        if span.response and outer[key_of(span)] == key_of(span):
            of_response[span.response].append(span)
    for same in of_response.values():
        for together in _overlapping(same):
            # The span with a parent and with messages is the framework's.
            together.sort(key=lambda span: (not span.parent, not span.has_text, span.start, span.id))
            for span in together[1:]:
                _replace(outer, key_of(span), key_of(together[0]))


def _overlapping(spans: Sequence[Digest]) -> list[list[Digest]]:
    """Return groups of spans that overlap in time."""
    groups: list[list[Digest]] = []
    latest = 0
    for span in sorted(spans, key=lambda span: (span.start, span.id)):
        if not groups or span.start > latest + _SKEW_NS:
            groups.append([])
        groups[-1].append(span)
        latest = max(latest, span.end)
    return groups


def _join_by_time(models: Sequence[Digest], outer: dict[Key, Key]) -> None:
    counted = [span for span in models if outer[key_of(span)] == key_of(span)]
    for span in counted:
        if span.runtime not in _CLIENTS or span.has_text:
            continue
        around = (
            other
            for other in counted
            if other is not span
            and (not span.parent or (span.trace, span.parent) == (other.trace, other.parent))
            and other.service == span.service
            and other.start <= span.start
            and span.end <= other.end
            and other.model == span.model
            and _tokens(other) == _tokens(span)
        )
        if (other := next(around, None)) is not None and outer[key_of(other)] == key_of(other):
            _replace(outer, key_of(span), key_of(other))


def _replace(outer: dict[Key, Key], inner: Key, by: Key) -> None:
    for key, of in outer.items():
        if of == inner:
            outer[key] = by


def _tokens(span: Digest) -> tuple[int, int] | None:
    return None if span.usage is None else (span.usage["total_in"], span.usage["output"])


def _calls_of_notes(notes: Iterable[Digest]) -> list[Call]:
    """Return the calls that log records alone report, where no spans are sent."""
    reports = ("api_request", "codex.sse_event", "gemini_cli.api_response")
    found = [note for note in notes if note.usage is not None and not note.trace and note.name in reports]
    return [Call(note) for note in sorted(found, key=lambda note: (note.start, note.print))]


def _add_notes(calls: Sequence[Call], notes: Sequence[Digest]) -> None:
    """Give each call the log records of its span, and those without one that match it by usage and time."""
    by_span: dict[Key, list[Digest]] = defaultdict(list)
    for note in notes:
        by_span[note.trace, note.id].append(note)
    taken: set[int] = {id(call.span) for call in calls}
    for call in calls:
        for note in by_span.get(key_of(call.span), ()):
            if note.has_text and id(note) not in taken and call.span.id:
                call.notes.append(note)
                taken.add(id(note))
    loose = [note for note in notes if id(note) not in taken and (note.usage or note.name in _TEXTS)]
    for note in sorted(loose, key=lambda note: (note.start, note.name, note.print)):
        fitting = [call for call in calls if _fits(note, call)]
        if fitting:
            nearest = min(fitting, key=lambda call: (abs(note.start - call.span.end), call.span.start))
            nearest.notes.append(note)


_TEXTS = frozenset(("assistant_response",))


def _fits(note: Digest, call: Call) -> bool:
    span = call.span
    if span.is_log or not span.start <= note.start <= span.end + _LATE_NS or note.name in _names(call):
        return False
    if note.name in _TEXTS:
        return note.id in ("", span.parent)
    known, sent = call.span.usage, note.usage or {}
    if known is None:
        return True
    thoughts = sent.get("reasoning", 0) if note.runtime in usage.EXCLUDES_REASONING else 0
    return known["total_in"] == sent["total_in"] and known["output"] == sent["output"] - thoughts


def _names(call: Call) -> set[str]:
    return {note.name for note in call.notes}
