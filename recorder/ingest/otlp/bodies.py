"""OTLP bodies, protobuf or JSON, as journal lines, one a span or log record in OTLP/JSON; and the answers.

A line is an export request with a single span, so it can be imported again. Resource and scope are in each
line; the journal stores repeated bytes once.

protobuf is read field by field: `json_format` takes 30 times as long. Limits of a line are checked where all
lines are parsed.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from google.protobuf.message import DecodeError
from jiter import from_json
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from recorder.core.formats.otlp.spans.attributes import hex_id

Signal = Literal["traces", "logs", "metrics"]
Fields = dict[str, Any]
DEPTH = 100  # of nested values in protobuf, whose own limit is the same
INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, UNAVAILABLE = 3, 16, 7, 14  # of google.rpc.Code
_CODES = {401: UNAUTHENTICATED, 403: PERMISSION_DENIED, 429: 8, 503: UNAVAILABLE}
_REQUESTS: dict[Signal, Any] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}
_RESPONSES: dict[Signal, Any] = {
    "traces": ExportTraceServiceResponse,
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}
_REJECTED = {"traces": "rejected_spans", "logs": "rejected_log_records", "metrics": "rejected_data_points"}
_KEYS: dict[str, tuple[str, str, str]] = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
}


class Unreadable(Exception):
    """A body that is no export request."""


class Lines(NamedTuple):
    """The lines of a body, and whether each has the ids of a span; a log record needs none."""

    lines: list[bytes]
    have_ids: bool


def lines_of(signal: Signal, body: bytes, *, is_json: bool) -> Lines:
    """Return the lines of a body; of metrics none, as they are only counted. Raises Unreadable."""
    if is_json:
        return _collected(_lines_of_json(signal, body))
    try:
        request = _REQUESTS[signal].FromString(body)
    except DecodeError:
        raise Unreadable("the body is not an export request in protobuf") from None
    return _collected(_lines_of_protobuf(signal, request))


def _collected(found: Iterator[tuple[bytes, bool]]) -> Lines:
    pairs = list(found)
    return Lines([line for line, _ in pairs], all(has_ids for _, has_ids in pairs))


def answer(signal: Signal, rejected: int, message: str, *, is_json: bool) -> bytes:
    """Return the body of the answer; `partialSuccess` is set when lines were rejected."""
    if is_json:
        name = {"traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}
        partial = {name[signal]: str(rejected), "errorMessage": message} if rejected else {}
        return _json({"partialSuccess": partial} if partial else {})
    response = _RESPONSES[signal]()
    if rejected:
        setattr(response.partial_success, _REJECTED[signal], rejected)
        response.partial_success.error_message = message
    found: bytes = response.SerializeToString()
    return found


def status(http_status: int, message: str, *, is_json: bool) -> bytes:
    """Return a google.rpc.Status with the code for an HTTP status."""
    code = _CODES.get(http_status, INVALID_ARGUMENT)
    if is_json:
        return _json({"code": code, "message": message})
    text = message.encode(errors="replace")[:1000]
    return bytes((0x08, code, 0x12)) + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _json(value: object) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(value, separators=(",", ":")).encode()


def _lines_of_json(signal: Signal, body: bytes) -> Iterator[tuple[bytes, bool]]:
    try:
        request = from_json(body, cache_mode="keys")
    except ValueError:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            raise Unreadable("the body is not JSON") from None
    outer, inner, name = _KEYS[signal]
    resources = request.get(outer) if isinstance(request, dict) else False
    if not isinstance(resources, list | None):  # null is an absent field in JSON of protobuf
        raise Unreadable(f"the body is an object with {outer}")
    if signal == "metrics":
        return
    for of_resource in resources or ():
        for of_scope in _objects(of_resource, inner):
            for each in _objects(of_scope, name):
                scope = {key: value for key, value in of_scope.items() if key != name}
                resource = {key: value for key, value in of_resource.items() if key != inner}
                has_ids = signal != "traces" or _has_ids(each)
                yield _json({outer: [{**resource, inner: [{**scope, name: [each]}]}]}), has_ids


def _has_ids(span: Any) -> bool:
    return isinstance(span, dict) and bool(hex_id(span.get("traceId"), 32) and hex_id(span.get("spanId"), 16))


def _objects(value: Any, name: str) -> Iterable[Any]:
    found = value.get(name, []) if isinstance(value, dict) else []
    return found if isinstance(found, list) else []


def _lines_of_protobuf(signal: Signal, request: Any) -> Iterator[tuple[bytes, bool]]:
    if signal == "metrics":
        return
    outer, inner, name = _KEYS[signal]
    read: Callable[[Any], Fields] = _span if signal == "traces" else _record
    resources = request.resource_spans if signal == "traces" else request.resource_logs
    for of_resource in resources:
        # Resource and scope are encoded once: they are in every line.
        resource = {"attributes": _pairs(of_resource.resource.attributes)}
        head = _json(_with_schema({"resource": resource}, of_resource))[:-1]
        for of_scope in of_resource.scope_spans if signal == "traces" else of_resource.scope_logs:
            about = _without_empty(
                {"name": of_scope.scope.name, "version": of_scope.scope.version,
                 "attributes": _pairs(of_scope.scope.attributes)})  # fmt: skip
            scope = _json(_with_schema({"scope": about}, of_scope))[:-1]
            start = b'{"%s":[%s,"%s":[%s,"%s":[' % (
                outer.encode(), head, inner.encode(), scope, name.encode(),
            )  # fmt: skip
            for each in of_scope.spans if signal == "traces" else of_scope.log_records:
                has_ids = signal != "traces" or (
                    len(each.trace_id) == 16
                    and any(each.trace_id)
                    and len(each.span_id) == 8
                    and any(each.span_id)
                )
                yield start + _json(read(each)) + b"]}]}]}", has_ids


def _with_schema(fields: Fields, source: Any) -> Fields:
    return fields | {"schemaUrl": source.schema_url} if source.schema_url else fields


def _span(span: Any) -> Fields:
    found = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "traceState": span.trace_state,
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
        "attributes": _pairs(span.attributes),
        "droppedAttributesCount": span.dropped_attributes_count,
        "droppedEventsCount": span.dropped_events_count,
        "droppedLinksCount": span.dropped_links_count,
        "flags": span.flags,
        "events": [
            _without_empty({"timeUnixNano": str(event.time_unix_nano), "name": event.name,
                            "attributes": _pairs(event.attributes)})
            for event in span.events
        ],
        "links": [
            _without_empty({"traceId": link.trace_id.hex(), "spanId": link.span_id.hex(),
                            "attributes": _pairs(link.attributes)})
            for link in span.links
        ],
    }  # fmt: skip
    if span.status.code or span.status.message:
        found["status"] = _without_empty({"message": span.status.message, "code": span.status.code})
    return _without_empty(found)


def _record(record: Any) -> Fields:
    found = {
        "timeUnixNano": str(record.time_unix_nano),
        "observedTimeUnixNano": str(record.observed_time_unix_nano),
        "severityNumber": record.severity_number,
        "severityText": record.severity_text,
        "attributes": _pairs(record.attributes),
        "droppedAttributesCount": record.dropped_attributes_count,
        "flags": record.flags,
        "traceId": record.trace_id.hex(),
        "spanId": record.span_id.hex(),
        "eventName": record.event_name,
    }
    if record.HasField("body"):
        found["body"] = _value(record.body, 0)
    return _without_empty(found)


def _without_empty(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value not in ("", 0, "0", [])}


def _pairs(attributes: Iterable[Any], depth: int = 0) -> list[Fields]:
    return [{"key": pair.key, "value": _value(pair.value, depth)} for pair in attributes]


def _value(value: Any, depth: int) -> Fields:  # noqa: PLR0911  one arm a kind
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
        return {"arrayValue": {"values": [_value(each, depth + 1) for each in value.array_value.values]}}
    if kind == "kvlist_value" and depth < DEPTH:
        return {"kvlistValue": {"values": _pairs(value.kvlist_value.values, depth + 1)}}
    return {}


def _double(number: float) -> Fields:
    """Return a double; NaN and infinities are texts, as in OTLP/JSON."""
    if number != number or number in (float("inf"), float("-inf")):
        name = "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
        return {"doubleValue": name}
    return {"doubleValue": number}
