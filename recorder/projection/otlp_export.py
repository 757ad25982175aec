"""Exports a session as one OTLP request of spans, in JSON or protobuf, a loop at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, TracesData
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtobufSpan

from recorder import __version__
from recorder.core.formats.base import Fields
from recorder.core.otlp_export.spans import ERROR, OK, Span, Value, homes, spans_of
from recorder.core.records import Json
from recorder.models import Session
from recorder.projection.export import recorded_loops

Encoding = Literal["json", "protobuf"]
SCOPE = "loopscope"


def otlp_request(session: Session, encoding: Encoding = "json") -> Iterator[bytes]:
    """Yield the parts of an `ExportTraceServiceRequest` with all ended spans of a session. Raises Pruned.

    Cost: the events of one loop are in memory at once, without streamed updates.
    """
    loops, refs, recorded = recorded_loops(session)
    places = homes(loops, refs)
    spans = (spans_of(recorded(loop), places[loop]) for loop in loops if loop.started_at is not None)
    service = session.agent_id or "loopscope"
    yield from _json(spans, service) if encoding == "json" else _protobuf(spans, service)


def _json(loops: Iterator[Iterator[Span]], service: str) -> Iterator[bytes]:
    resource = {"attributes": _attributes({"service.name": service})}
    scope = {"name": SCOPE, "version": __version__}
    head = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": []}]}]}
    before, after = json.dumps(head).split("[]")
    yield before.encode() + b"["
    separator = b"\n"
    for spans in loops:
        for span in spans:
            yield separator + _text(_fields(span))
            separator = b",\n"
    yield b"]" + after.encode() + b"\n"


def _text(fields: Fields) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        return json.dumps(fields, separators=(",", ":")).encode()


def _fields(span: Span) -> Fields:
    found: Fields = {
        "traceId": span.trace,
        "spanId": span.id,
        "parentSpanId": span.parent,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": _attributes(span.attributes),
        "status": {"code": OK} if span.error is None else {"code": ERROR, "message": span.error},
    }
    return {name: value for name, value in found.items() if value != ""}


def _attributes(values: dict[str, Value]) -> Json:
    return [{"key": name, "value": _json_value(value)} for name, value in values.items()]


def _json_value(value: Value) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [{"stringValue": each} for each in value]}}
    return {"stringValue": value}


def _protobuf(loops: Iterator[Iterator[Span]], service: str) -> Iterator[bytes]:
    """Yield one message a loop: joined, messages of the same type are one message."""
    resource = Resource(attributes=[KeyValue(key="service.name", value=_value(service))])
    scope = InstrumentationScope(name=SCOPE, version=__version__)
    for spans in loops:
        of_scope = ScopeSpans(scope=scope, spans=[_message(span) for span in spans])
        yield TracesData(
            resource_spans=[ResourceSpans(resource=resource, scope_spans=[of_scope])]
        ).SerializeToString()


def _message(span: Span) -> ProtobufSpan:
    made = ProtobufSpan(
        trace_id=bytes.fromhex(span.trace),
        span_id=bytes.fromhex(span.id),
        parent_span_id=bytes.fromhex(span.parent),
        name=_clean(span.name),
        kind=span.kind,  # type: ignore[arg-type]
        start_time_unix_nano=span.start,
        end_time_unix_nano=span.end,
        attributes=[KeyValue(key=name, value=_value(value)) for name, value in span.attributes.items()],
    )
    made.status.code = OK if span.error is None else ERROR  # type: ignore[assignment]
    made.status.message = _clean(span.error or "")
    return made


def _value(value: Value) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[_value(each) for each in value]))
    return AnyValue(string_value=_clean(value))


def _clean(text: str) -> str:
    """Return a text that is valid UTF-8: half a surrogate pair becomes a question mark."""
    return text.encode(errors="replace").decode()
