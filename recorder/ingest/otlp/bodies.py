"""OTLP bodies, protobuf or JSON, as journal lines, one a span or log record in OTLP/JSON; and the answers.

A line is an export request with a single span, so it can be imported again. Resource and scope are in each
line; the journal stores repeated bytes once.

What a body holds is limited by `Bounds`, before objects are built of it. Limits of a line are checked where
all lines are parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from jiter import from_json
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from recorder.core.formats.otlp.spans.attributes import hex_id
from recorder.core.formats.structure import has_more_values
from recorder.ingest.otlp import protobuf
from recorder.ingest.otlp.bounds import Bounds, TooLarge, Unreadable
from recorder.ingest.otlp.json_text import json_text

__all__ = ("Bounds", "Lines", "Signal", "TooLarge", "Unreadable", "answer", "lines_of", "status")

Signal = Literal["traces", "logs", "metrics"]
PARSED_COST = 4  # estimated memory of a parsed JSON body, in its own bytes
INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, UNAVAILABLE = 3, 16, 7, 14  # of google.rpc.Code
_CODES = {401: UNAUTHENTICATED, 403: PERMISSION_DENIED, 429: 8, 503: UNAVAILABLE}
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


FILE = Bounds()


class Lines(NamedTuple):
    """The lines of a body, and whether each has the ids of a span; a log record needs none."""

    lines: list[bytes]
    have_ids: bool


def lines_of(signal: Signal, body: bytes, *, is_json: bool, bounds: Bounds = FILE) -> Lines:
    """Return the lines of a body; of metrics none, as they are only counted.

    Raises Unreadable, TooLarge, or what `bounds.hold` raises.
    """
    if is_json:
        return _collected(_lines_of_json(signal, body, bounds), bounds)
    if signal == "metrics":
        protobuf.check(body, bounds)
        return Lines([], have_ids=True)
    return _collected(protobuf.lines(signal, body, bounds), bounds)


def _collected(found: Iterator[tuple[bytes, bool]], bounds: Bounds) -> Lines:
    lines, have_ids, size = [], True, 0
    for line, has_ids in found:
        size += len(line)
        if size > bounds.all_bytes:
            limit = f"with them all lines of a body have at most {bounds.all_bytes} bytes"
            raise TooLarge(f"resource and scope are too large to be kept with each span: {limit}")
        bounds.hold(len(line))
        lines.append(line)
        have_ids = have_ids and has_ids
    return Lines(lines, have_ids)


def answer(signal: Signal, rejected: int, message: str, *, is_json: bool) -> bytes:
    """Return the body of the answer; `partialSuccess` is set when lines were rejected."""
    if is_json:
        name = {"traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}
        partial = {name[signal]: str(rejected), "errorMessage": message} if rejected else {}
        return json_text({"partialSuccess": partial} if partial else {})
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
        return json_text({"code": code, "message": message})
    text = message.encode(errors="replace")[:1000]
    return bytes((0x08, code, 0x12)) + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _lines_of_json(signal: Signal, body: bytes, bounds: Bounds) -> Iterator[tuple[bytes, bool]]:
    if has_more_values(body, bounds.values):
        raise TooLarge(f"a body has at most {bounds.values} keys and values")
    bounds.hold(PARSED_COST * len(body))
    request = _parsed(body)
    outer, inner, name = _KEYS[signal]
    resources = request.get(outer) if isinstance(request, dict) else False
    if not isinstance(resources, list | None):  # null is an absent field in JSON of protobuf
        raise Unreadable(f"the body is an object with {outer}")
    if request and outer not in request:  # `{}` is an empty request
        raise Unreadable(f"the body has no {outer}: names in OTLP/JSON are in camel case")
    if signal == "metrics":
        return
    scopes = [(each, of_scope) for each in resources or () for of_scope in _objects(each, inner)]
    bounds.check_lines(sum(len(_objects(of_scope, name)) for _, of_scope in scopes))
    for of_resource, of_scope in scopes:
        for each in _objects(of_scope, name):
            scope = {key: value for key, value in of_scope.items() if key != name}
            resource = {key: value for key, value in of_resource.items() if key != inner}
            has_ids = signal != "traces" or _has_ids(each)
            yield json_text({outer: [{**resource, inner: [{**scope, name: [each]}]}]}), has_ids


def _parsed(body: bytes) -> Any:
    try:
        return from_json(body, cache_mode="keys")
    except ValueError:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise Unreadable("the body is not JSON") from None


def _has_ids(span: Any) -> bool:
    return isinstance(span, dict) and bool(hex_id(span.get("traceId"), 32) and hex_id(span.get("spanId"), 16))


def _objects(value: Any, name: str) -> list[Any]:
    found = value.get(name, []) if isinstance(value, dict) else []
    return found if isinstance(found, list) else []
