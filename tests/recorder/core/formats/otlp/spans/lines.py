"""Spans and log records as lines of OTLP/JSON, and the events that a unit makes of them."""

import itertools
import json

from recorder.core.formats.otlp.spans.reading import read_item
from recorder.core.formats.otlp.unit import Unit

TRACE = "a" * 32
START = 1_771_000_000 * 10**9
_JSON_KINDS = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
_number = itertools.count(1)


def value(plain):
    """Return a plain value as an AnyValue."""
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(each) for each in plain]}}
    if isinstance(plain, dict):
        return {"kvlistValue": {"values": pairs(plain)}}
    return {_JSON_KINDS[type(plain)]: str(plain) if type(plain) is int else plain}


def pairs(attributes):
    return [{"key": name, "value": value(plain)} for name, plain in attributes.items()]


def span(attributes, *, name="chat m", number=1, parent=0, at=0.0, to=None, scope="x", events=(), **more):
    """Return an item of a span that starts `at` seconds and ends `to` seconds after `START`."""
    body = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(START + int(at * 1e9)),
        "endTimeUnixNano": str(START + int((at + 1 if to is None else to) * 1e9)),
        "attributes": pairs(attributes),
        "events": [{"name": each, "attributes": pairs(fields)} for each, fields in events],
        **({"parentSpanId": f"{parent:016x}"} if parent else {}),
        **more,
    }
    return _item({"resourceSpans": [{"scopeSpans": [{"scope": {"name": scope}, "spans": [body]}]}]})


def log(event, attributes=None, *, body=None, number=1, at=0.0, scope="x", **more):
    """Return an item of a log record of a span, written `at` seconds after `START`."""
    record = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "timeUnixNano": str(START + int(at * 1e9)),
        "eventName": event,
        "attributes": pairs(attributes or {}),
        **({} if body is None else {"body": value(body)}),
        **more,
    }
    return _item({"resourceLogs": [{"scopeLogs": [{"scope": {"name": scope}, "logRecords": [record]}]}]})


def events(items):
    """Return the events of a unit with these lines, as (type, event)."""
    unit, lines = Unit(), {item.digest.line: item for item in items}
    for item in items:
        unit.add(item.digest)
    unit.is_silent = True
    found = unit.new_events(lambda digest: lines[digest.line])
    return [(event["type"], event) for event in found]


def of_type(items, name):
    """Return the events of one type."""
    return [event for kind, event in events(items) if kind == name]


def _item(line):
    raw = json.dumps(line).encode()
    item = read_item(line, raw)
    item.digest.line = next(_number)
    return item
