"""What a body holds is counted before objects are built of it, in work linear to what was sent."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from recorder.core.formats.structure import has_more_values
from recorder.ingest.otlp import bodies, protobuf, wire
from recorder.ingest.otlp.bounds import Bounds, TooLarge, Unreadable
from recorder.models import JournalEvent, QuarantinedLine
from tests.support.endpoint_clients import HOST, request

PROTOBUF = "application/x-protobuf"
BOUNDS = Bounds(lines=100, line_bytes=10_000, all_bytes=100_000, line_values=200, values=500)
IDS = bytes.fromhex("0a10") + b"\x01" * 16 + bytes.fromhex("1208") + b"\x02" * 8
EMPTY_SPAN = EMPTY_SCOPE = b"\x12\x00"
EMPTY_ATTRIBUTE, EMPTY_EVENT, EMPTY_VALUE = b"\x4a\x00", b"\x5a\x00", b"\x0a\x00"


def field(number, content):
    size, length = bytearray(), len(content)
    while length > 0x7F:
        size.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + content


def body_of(*spans):
    return field(1, field(2, b"".join(field(2, span) for span in spans)))


def nested_values(number):
    return field(9, field(1, b"a") + field(2, field(5, EMPTY_VALUE * number)))


ATTACKS = {  # name: body of so many of the smallest fields
    "spans": lambda number: field(1, field(2, EMPTY_SPAN * number)),
    "scopes": lambda number: field(1, EMPTY_SCOPE * number),
    "resources": lambda number: b"\x0a\x00" * number,
    "unknown fields": lambda number: b"\x78\x01" * number,
    "unknown fields of a resource": lambda number: field(1, b"\x78\x01" * number),
    "attributes of a resource": lambda number: field(
        1, field(1, b"\x0a\x00" * number) + field(2, EMPTY_SPAN)
    ),
    "attributes of spans": lambda number: body_of(*[IDS + EMPTY_ATTRIBUTE * 30] * (number // 30)),
}
SPANS = {
    "attributes": lambda number: EMPTY_ATTRIBUTE * number,
    "events": lambda number: EMPTY_EVENT * number,
    "values": nested_values,
    "names": lambda number: b"\x2a\x00" * number,
    "bytes": lambda number: field(5, b"x" * 10 * number),
}


class Work:
    """Counts the fields that are numbers at and the bytes that are parsed."""

    def __init__(self, monkeypatch):
        self.seen = Counter()
        fields = wire.fields

        def counted(*args):
            for found in fields(*args):
                self.seen["fields"] += 1
                yield found

        monkeypatch.setattr(wire, "fields", counted)
        kind = protobuf._KINDS["traces"]
        for message in (kind.resource, kind.scope, kind.line):
            monkeypatch.setattr(message, "FromString", self._parsed(message.FromString))

    def _parsed(self, parse):
        def counted(content):
            self.seen["bytes"] += len(content)
            return parse(content)

        return counted


@pytest.mark.parametrize("name", ATTACKS)
def test_a_body_of_too_many_small_fields_is_refused_after_a_look_at_as_many_as_allowed(name):
    with pytest.raises(TooLarge):
        bodies.lines_of("traces", ATTACKS[name](3_000), is_json=False, bounds=BOUNDS)


@pytest.mark.parametrize("name", [*ATTACKS])
def test_ten_times_too_many_fields_are_not_read(name, monkeypatch):
    numbers = []
    for number in (3_000, 30_000):
        seen = 0
        original = wire.fields

        def counted(*args, original=original):
            nonlocal seen
            for found in original(*args):
                seen += 1
                yield found

        with monkeypatch.context() as patch:
            patch.setattr(wire, "fields", counted)
            with pytest.raises(TooLarge):
                bodies.lines_of("traces", ATTACKS[name](number), is_json=False, bounds=BOUNDS)
        numbers.append(seen)

    assert numbers[1] <= numbers[0] + 1
    assert numbers[0] <= protobuf.FIELDS_A_LINE * BOUNDS.lines + BOUNDS.line_values + 2


@pytest.mark.parametrize("name", SPANS)
def test_a_span_that_holds_too_much_is_a_line_without_its_content(name):
    large = IDS + SPANS[name](3_000)

    lines, have_ids = bodies.lines_of("traces", body_of(IDS, large, IDS), is_json=False, bounds=BOUNDS)

    assert not have_ids
    first, second, third = map(json.loads, lines)
    assert first == third
    assert "at most" in second["loopscopeTooLarge"]
    span = second["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert span == {"traceId": "01" * 16, "spanId": "02" * 8}


@pytest.mark.parametrize(
    "start",
    [b'{"resourceSpans":[', b'{"resourceSpans":[{"scopeSpans":[', b'{"a":['],
    ids=["resources", "scopes", "unknown"],
)
def test_a_json_body_of_too_many_values_is_refused_before_it_is_parsed(start, monkeypatch):
    def parse(*_args, **_options):
        raise AssertionError("the body is parsed")

    monkeypatch.setattr(bodies, "from_json", parse)
    monkeypatch.setattr(bodies.json, "loads", parse)

    for signal in ("traces", "logs", "metrics"):
        with pytest.raises(TooLarge):
            bodies.lines_of(signal, start + b"[]," * BOUNDS.values, is_json=True, bounds=BOUNDS)


def test_a_json_body_of_too_many_spans_is_refused_before_a_line_is_built():
    spans = ",".join(["{}"] * (BOUNDS.lines + 1))
    body = f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}'.encode()

    with pytest.raises(TooLarge, match="at most 100 spans"):
        bodies.lines_of("traces", body, is_json=True, bounds=BOUNDS)


def test_lines_are_not_built_beyond_the_bytes_of_all_lines():
    """A resource of 5,000 bytes is in each of the lines."""
    resource = field(1, field(1, field(1, b"k" * 5_000)))
    body = field(1, resource + field(2, field(2, IDS) * 50))
    held = []

    bounds = Bounds(all_bytes=BOUNDS.all_bytes, hold=held.append)
    with pytest.raises(TooLarge, match=f"kept with each span: .* {BOUNDS.all_bytes} bytes"):
        bodies.lines_of("traces", body, is_json=False, bounds=bounds)

    assert sum(held) <= BOUNDS.all_bytes


def test_a_large_span_is_stored_beside_its_rejected_neighbour(token):
    large = IDS[:-1] + b"\x03" + EMPTY_ATTRIBUTE * 300_000
    headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", PROTOBUF.encode())]

    answer = request("/v1/traces", body_of(IDS, large), method="POST", headers=[HOST, *headers])

    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_spans) == (200, 1)
    assert partial.error_message.startswith("too_large")
    assert JournalEvent.objects.filter(kind="line").count() == 1
    assert QuarantinedLine.objects.get().code == "too_large"


@st.composite
def requests(draw):
    """Return an export request of arbitrary shape."""
    found = ExportTraceServiceRequest()
    for _ in range(draw(st.integers(0, 3))):
        resource = found.resource_spans.add(schema_url=draw(st.text(max_size=3)))
        _add_attributes(draw, resource.resource.attributes)
        for _ in range(draw(st.integers(0, 3))):
            scope = resource.scope_spans.add()
            scope.scope.name = draw(st.text(max_size=3))
            for _ in range(draw(st.integers(0, 3))):
                span = scope.spans.add(trace_id=b"\x01" * 16, span_id=draw(st.binary(min_size=8, max_size=8)))
                span.start_time_unix_nano = draw(st.integers(0, 2**64 - 1))
                _add_attributes(draw, span.attributes)
                _add_attributes(draw, span.events.add(name="e").attributes)
    return found


def _add_attributes(draw, attributes):
    for _ in range(draw(st.integers(0, 3))):
        value = attributes.add(key=draw(st.text(max_size=3))).value
        for _ in range(draw(st.integers(0, 3))):
            value = value.array_value.values.add()
        value.string_value = draw(st.text(max_size=5))


@given(requests())
def test_spans_found_by_their_places_are_those_of_the_parser(message):
    lines, _ = bodies.lines_of("traces", message.SerializeToString(), is_json=False)

    found = [span for each in message.resource_spans for scope in each.scope_spans for span in scope.spans]
    assert [_span(line)["spanId"] for line in lines] == [span.span_id.hex() for span in found]
    assert [len(_span(line).get("attributes", [])) for line in lines] == [
        len(span.attributes) for span in found
    ]


@given(requests())
def test_the_count_of_values_is_at_most_that_of_the_lines(message):
    """No span is refused by the count of fields that its line would not be refused for."""
    body = message.SerializeToString()
    for line in bodies.lines_of("traces", body, is_json=False).lines:
        bounds = Bounds(line_values=_values(line))
        assert line in bodies.lines_of("traces", body, is_json=False, bounds=bounds).lines


def _values(text):
    """Return how many keys and values a text has, as they are counted when it is rejected."""
    return next(limit for limit in range(len(text) + 1) if not has_more_values(text, limit))


def _span(line):
    return json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_lines_or_unreadable(content):
    for body in (content, field(1, content), body_of(content)):
        try:
            lines, _ = bodies.lines_of("traces", body, is_json=False, bounds=BOUNDS)
        except (Unreadable, TooLarge):
            continue
        assert all(json.loads(line) for line in lines)


@given(st.integers(1, 40), st.sampled_from(sorted(SPANS)), st.integers(1, 20))
def test_twice_the_body_takes_at_most_twice_the_work(spans, name, number):
    work = []
    for times in (1, 2):
        body = body_of(*[IDS + SPANS[name](number)] * spans * times)
        with pytest.MonkeyPatch.context() as patch:
            count = Work(patch)
            bodies.lines_of("traces", body, is_json=False)
        work.append(count.seen)

    assert work[1]["fields"] <= 2.5 * work[0]["fields"]
    assert work[1]["bytes"] <= 2.5 * work[0]["bytes"]
