"""Export requests in protobuf as journal lines, field by field: `json_format` takes 30 times as long.

The spans are found by their places (`wire.py`) and parsed one at a time, so the parser's objects are never
those of more than one span. A span that holds too much becomes a line without its content, which the reader
rejects.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from recorder.core.formats.otlp.spans.reading import TOO_LARGE
from recorder.ingest.otlp import wire
from recorder.ingest.otlp.bounds import Bounds, LineTooLarge, TooLarge, Unreadable, Values
from recorder.ingest.otlp.json_text import json_text

Fields = dict[str, Any]
Read = Callable[[Any, Values], Fields]
DEPTH = 100  # of nested values in protobuf, whose own limit is the same
PARTS = 2  # ResourceSpans has its ScopeSpans under this number, and these their spans
FIELDS_A_LINE = 8  # of containers: the span, its scope and its resource with what they are in
PAIR_VALUES, VALUE_VALUES = 6, 2  # keys and values in JSON of the smallest attribute, of the smallest value
STUB_FIELDS, STUB_BYTES = 1_000, 4_096  # of a span that is too large: the fields looked at, their size


@dataclass(frozen=True, slots=True)
class _Kind:
    """The messages of a signal, and their names in OTLP/JSON."""

    outer: str
    inner: str
    name: str
    resource: Any
    scope: Any
    line: Any
    shape: wire.Shape
    read: Read


Place = tuple[int, int]  # where a message begins and ends in the body


@dataclass(slots=True)
class _Container:
    """A ResourceSpans or ScopeSpans: the bytes of its own fields, and the places of the messages in it."""

    own: bytes
    parts: list[Place]


class _Outline:
    """Finds the messages of a body; the fields looked at are limited over all of it."""

    def __init__(self, body: bytes, bounds: Bounds) -> None:
        self._body, self._bounds = body, bounds
        self._left = self._most = FIELDS_A_LINE * bounds.lines

    def request(self) -> Sequence[Place]:
        """Return the places of the resources. Raises Unreadable if there is none but something else."""
        found = self.container((0, len(self._body)), 1)
        if found.own and not found.parts:
            raise Unreadable("the body is not an export request in protobuf: it has no resource (field 1)")
        return found.parts

    def container(self, place: Place, number: int) -> _Container:
        """Split a message into the messages under a field number, and the rest."""
        own, parts = [], []
        for found, begin, content, end in wire.fields(self._body, *place):
            self._left -= 1
            if self._left < 0:
                raise TooLarge(f"a body has at most {self._most} fields beside its spans or log records")
            if found == number:
                parts.append((content, end))
                self._bounds.check_lines(len(parts))
            else:
                own.append(self._body[begin:end])
        return _Container(b"".join(own), parts)


def check(body: bytes, bounds: Bounds) -> None:
    """Look at the outermost fields of a body. Raises Unreadable or TooLarge."""
    try:
        _Outline(body, bounds).request()
    except wire.Malformed:
        raise Unreadable("the body is not an export request in protobuf") from None


def lines(signal: Literal["traces", "logs"], body: bytes, bounds: Bounds) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a body, and of each whether it has its ids. Raises Unreadable or TooLarge."""
    try:
        yield from _lines(_KINDS[signal], body, bounds)
    except (DecodeError, wire.Malformed):
        raise Unreadable("the body is not an export request in protobuf") from None


def _lines(kind: _Kind, body: bytes, bounds: Bounds) -> Iterator[tuple[bytes, bool]]:
    outline, values = _Outline(body, bounds), Values(bounds)
    found = []
    number = 0
    for place in outline.request():
        resource = outline.container(place, PARTS)
        scopes = [outline.container(each, PARTS) for each in resource.parts]
        number += sum(len(scope.parts) for scope in scopes)
        bounds.check_lines(number)
        found.append((resource, scopes))
    for resource, scopes in found:
        # Resource and scope are encoded once: they are in every line.
        head = _head(kind.resource, resource.own, wire.RESOURCE, bounds, values)
        for scope in scopes:
            about = _head(kind.scope, scope.own, wire.SCOPE, bounds, values)
            start = b'"%s":[%s,"%s":[%s,"%s":[' % (
                kind.outer.encode(), head, kind.inner.encode(), about, kind.name.encode(),
            )  # fmt: skip
            for each in scope.parts:
                yield _line(kind, body, each, start, bounds, values)


def _line(
    kind: _Kind, body: bytes, place: Place, start: bytes, bounds: Bounds, values: Values
) -> tuple[bytes, bool]:
    values.begin_line()
    size = place[1] - place[0]
    is_small = size <= bounds.line_bytes
    if is_small and not wire.has_more_fields(body, *place, kind.shape, bounds.line_values):
        message = kind.line.FromString(body[slice(*place)])
        try:
            return b"{" + start + json_text(kind.read(message, values)) + b"]}]}]}", _has_ids(message)
        except LineTooLarge:
            pass
    why = (
        f"at most {bounds.line_values} keys and values" if is_small else f"at most {bounds.line_bytes} bytes"
    )
    about = _without_content(kind, body, place, values)
    mark = b'{"%s":%s,' % (TOO_LARGE.encode(), json_text(f"a span or log record has {why}"))
    return mark + start + json_text(about) + b"]}]}]}", False


def _without_content(kind: _Kind, body: bytes, place: Place, values: Values) -> Fields:
    """Return what a span that is too large has before and beside its content, for the quarantine."""
    values.begin_line()
    parts = [
        body[begin:end]
        for number, begin, _, end in islice(wire.fields(body, *place), STUB_FIELDS)
        if number not in kind.shape and end - begin <= STUB_BYTES
    ]
    return kind.read(kind.line.FromString(b"".join(parts)), values)


def _head(message: Any, own: bytes, shape: wire.Shape, bounds: Bounds, values: Values) -> bytes:
    """Return a resource or scope in JSON, without the bracket at its end."""
    values.begin_line()
    too_large = TooLarge(f"a resource or scope has at most {bounds.line_values} keys and values")
    if wire.has_more_fields(own, 0, len(own), shape, bounds.line_values):
        raise too_large
    found = message.FromString(own)
    read = _resource if shape is wire.RESOURCE else _scope
    try:
        about = read(found, values)
    except LineTooLarge:
        raise too_large from None
    return json_text(about | ({"schemaUrl": found.schema_url} if found.schema_url else {}))[:-1]


def _resource(found: Any, values: Values) -> Fields:
    return {"resource": {"attributes": _pairs(found.resource.attributes, values)}}


def _scope(found: Any, values: Values) -> Fields:
    scope = found.scope
    about = {"name": scope.name, "version": scope.version, "attributes": _pairs(scope.attributes, values)}
    return {"scope": _without_empty(about)}


def _has_ids(message: Any) -> bool:
    """Return whether a span has its ids; a log record needs none."""
    return isinstance(message, LogRecord) or (
        len(message.trace_id) == 16
        and any(message.trace_id)
        and len(message.span_id) == 8
        and any(message.span_id)
    )


def _span(span: Any, values: Values) -> Fields:
    values.take(VALUE_VALUES * (len(span.events) + len(span.links)))
    found = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "traceState": span.trace_state,
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
        "attributes": _pairs(span.attributes, values),
        "droppedAttributesCount": span.dropped_attributes_count,
        "droppedEventsCount": span.dropped_events_count,
        "droppedLinksCount": span.dropped_links_count,
        "flags": span.flags,
        "events": [
            _without_empty({"timeUnixNano": str(event.time_unix_nano), "name": event.name,
                            "attributes": _pairs(event.attributes, values)})
            for event in span.events
        ],
        "links": [
            _without_empty({"traceId": link.trace_id.hex(), "spanId": link.span_id.hex(),
                            "attributes": _pairs(link.attributes, values)})
            for link in span.links
        ],
    }  # fmt: skip
    if span.status.code or span.status.message:
        found["status"] = _without_empty({"message": span.status.message, "code": span.status.code})
    return _without_empty(found)


def _record(record: Any, values: Values) -> Fields:
    found = {
        "timeUnixNano": str(record.time_unix_nano),
        "observedTimeUnixNano": str(record.observed_time_unix_nano),
        "severityNumber": record.severity_number,
        "severityText": record.severity_text,
        "attributes": _pairs(record.attributes, values),
        "droppedAttributesCount": record.dropped_attributes_count,
        "flags": record.flags,
        "traceId": record.trace_id.hex(),
        "spanId": record.span_id.hex(),
        "eventName": record.event_name,
    }
    if record.HasField("body"):
        found["body"] = _value(record.body, values, 0)
    return _without_empty(found)


def _without_empty(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value not in ("", 0, "0", [])}


def _pairs(attributes: Any, values: Values, depth: int = 0) -> list[Fields]:
    values.take(PAIR_VALUES * len(attributes))
    return [{"key": pair.key, "value": _value(pair.value, values, depth)} for pair in attributes]


def _value(value: Any, values: Values, depth: int) -> Fields:  # noqa: PLR0911  one arm a kind
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return {"stringValue": value.string_value}
    if kind == "int_value":
        return {"intValue": str(value.int_value)}
    if kind == "bool_value":
        return {"boolValue": value.bool_value}
    if kind == "double_value":
        return _double(value.double_value)
    if kind == "bytes_value":
        return {"bytesValue": b64encode(value.bytes_value).decode()}
    if kind == "array_value" and depth < DEPTH:
        return {"arrayValue": {"values": _array(value.array_value.values, values, depth + 1)}}
    if kind == "kvlist_value" and depth < DEPTH:
        return {"kvlistValue": {"values": _pairs(value.kvlist_value.values, values, depth + 1)}}
    return {}


def _array(found: Any, values: Values, depth: int) -> list[Fields]:
    values.take(VALUE_VALUES * len(found))
    return [_value(each, values, depth) for each in found]


def _double(number: float) -> Fields:
    """Return a double; NaN and infinities are texts, as in OTLP/JSON."""
    if number != number or number in (float("inf"), float("-inf")):
        name = "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
        return {"doubleValue": name}
    return {"doubleValue": number}


_KINDS = {
    "traces": _Kind(
        *("resourceSpans", "scopeSpans", "spans", ResourceSpans, ScopeSpans, Span),
        shape=wire.SPAN,
        read=_span,
    ),
    "logs": _Kind(
        *("resourceLogs", "scopeLogs", "logRecords", ResourceLogs, ScopeLogs, LogRecord),
        shape=wire.LOG_RECORD,
        read=_record,
    ),
}
