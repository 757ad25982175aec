"""The OTLP endpoints follow OTLP/HTTP: encodings, partial success, errors, tokens."""

import gzip
import hashlib
import json
import zlib

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from recorder.access import tokens
from recorder.journal.read import texts
from recorder.models import EventRecord, JournalEvent, LoopRecord, QuarantinedLine, Session, WaitingSpans
from tests.recorder.journal.spans import captures
from tests.support.endpoint_clients import HOST, request
from tests.support.wait import until

PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def send(body, token=None, *, path="/v1/traces", method="POST", **headers):
    fields = {"content_type": JSON, "authorization": token and f"Bearer {token}", **headers}
    pairs = [
        (name.replace("_", "-").encode(), str(value).encode()) for name, value in fields.items() if value
    ]
    return request(path, body, method=method, headers=[HOST, *pairs])


def read():
    """Wait until the spans that were acknowledged are read."""
    until(lambda: not WaitingSpans.objects.exists(), "acknowledged spans are not read")


def span(**more):
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "12"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": 3}},
    ]
    times = {"startTimeUnixNano": "1771000000000000000", "endTimeUnixNano": "1771000001000000000"}
    return {"traceId": TRACE, "spanId": SPAN, "name": "chat m", "attributes": attributes, **times, **more}


def body(*spans):
    return json.dumps(
        {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
    ).encode()


@pytest.mark.parametrize("path", ["/v1/traces", "/otlp/v1/traces", "/v1/traces/"])
def test_a_span_in_json_is_stored_before_the_answer(token, path):
    answer = send(body(span()), token, path=path)

    assert (answer.status, answer.json, answer.headers["content-type"]) == (200, {}, JSON)
    loop = LoopRecord.objects.get()
    assert (loop.turns, loop.input_tokens, loop.output_tokens) == (1, 12, 3)
    assert Session.objects.get().source == "otlp"


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_protobuf_is_answered_in_protobuf(token, encoding):
    signal, content, _ = captures.bodies("frameworks/vercel-ai-sdk-pb/02-tool")[0]
    sent = gzip.compress(content) if encoding else content

    answer = send(sent, token, path=f"/v1/{signal}", content_type=PROTOBUF, content_encoding=encoding)

    assert (answer.status, answer.headers["content-type"]) == (200, PROTOBUF)
    assert not ExportTraceServiceResponse.FromString(answer.body).HasField("partial_success")
    assert JournalEvent.objects.filter(kind="line").count() > 0


def test_a_line_is_an_export_request_that_can_be_sent_again(token):
    send(body(span()), token)
    (line,) = texts(JournalEvent.objects.filter(kind="line").values_list("pk", flat=True)).values()

    assert json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"] == [span()]
    assert send(line, token).status == 200
    assert JournalEvent.objects.filter(kind="line").count() == 1, "known by trace and span id"


def test_another_body_under_the_same_ids_is_the_newer_state_of_the_span(token):
    send(body(span()), token)
    output = {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "9"}}
    send(body(span(attributes=[*span()["attributes"][:3], output])), token)

    assert LoopRecord.objects.get().output_tokens == 9


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (span(traceId="0" * 32), "bad_id"),
        (span(spanId="xyz"), "bad_id"),
        (span(traceId=None), "bad_id"),
        ("a text", "bad_type"),
    ],
)
def test_a_bad_span_is_rejected_alone(token, bad, code):
    answer = send(body(span(), bad), token)

    assert answer.status == 200
    assert answer.json["partialSuccess"]["rejectedSpans"] == "1"
    assert code in answer.json["partialSuccess"]["errorMessage"]
    assert QuarantinedLine.objects.get().code == code
    assert LoopRecord.objects.get().turns == 1


def test_partial_success_in_protobuf(token):
    sent = ExportTraceServiceRequest()
    spans = sent.resource_spans.add().scope_spans.add().spans
    spans.add(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN), name="a")
    spans.add(trace_id=b"", span_id=b"", name="b")

    answer = send(sent.SerializeToString(), token, content_type=PROTOBUF)

    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_spans) == (200, 1)
    assert "bad_id" in partial.error_message


@pytest.mark.parametrize("name", ["api-key", "x-api-key"])
def test_a_token_may_come_in_the_headers_of_other_tools(token, name):
    assert send(body(span()), **{name: token}).status == 200


@pytest.mark.parametrize("scheme", ["Bearer%20", "bearer%20"])
def test_a_token_may_be_percent_encoded_as_in_the_variable_of_the_specification(token, scheme):
    assert send(body(span()), authorization=f"{scheme}{token}").status == 200
    assert send(body(span()), authorization=f"{scheme}lsk_no_one").status == 401


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"\xff\xff\xff", {"content_type": PROTOBUF}, 400),
        (b"not gzip", {"content_encoding": "gzip"}, 400),
        (b"not deflate", {"content_encoding": "deflate"}, 400),
        (zlib.compress(b" " * (64 * 1024 * 1024)), {"content_encoding": "deflate"}, 413),
        (body(span()), {"content_type": "text/plain"}, 415),
        (body(span()), {"content_encoding": "br"}, 415),
        (gzip.compress(b" " * (64 * 1024 * 1024)), {"content_encoding": "gzip"}, 413),
    ],
)
def test_an_unreadable_body_is_refused_whole(token, content, headers, status):
    answer = send(content, token, **headers)

    assert answer.status == status
    assert not JournalEvent.objects.exists()
    if answer.headers["content-type"] == JSON:
        assert answer.json["code"] == 3  # google.rpc.Code INVALID_ARGUMENT
        assert answer.json["message"]


def test_a_body_may_be_deflated(token):
    answer = send(zlib.compress(body(span())), token, content_encoding="deflate")

    assert (answer.status, answer.json) == (200, {})
    assert JournalEvent.objects.filter(kind="line").count() == 1


def test_a_body_without_a_key_of_ours_is_refused(token):
    answer = send(b'{"resource_spans": []}', token)
    assert (answer.status, "camel case" in answer.json["message"]) == (400, True)
    assert send(b"{}", token).status == 200, "an empty request is one"


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
def test_a_protobuf_body_without_a_resource_is_refused(token, path):
    assert send(b"\x12\x03abc", token, path=path, content_type=PROTOBUF).status == 400
    assert send(b"", token, path=path, content_type=PROTOBUF).status == 200, "an empty request is one"


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/traces", "/v1/traces"),
        ("/v1/logs/", "/v1/logs"),
        ("/otlp/v1/metrics", "/v1/metrics"),
        ("/opentelemetry.proto.collector.trace.v1.TraceService/Export", "/v1/traces"),
        ("/opentelemetry.proto.collector.logs.v1.LogsService/Export", "/v1/logs"),
        ("/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "/v1/metrics"),
        ("/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export", "/v1/traces"),
    ],
)
def test_a_client_of_grpc_reads_the_address_of_its_signal_for_http(token, path, meant):
    answer = send(b"", token, path=path, content_type="application/grpc")
    found = (answer.status, answer.headers["content-type"], answer.headers["grpc-status"])
    assert found == (200, "application/grpc", "12")
    assert answer.headers["grpc-message"].endswith(f" {meant}")


def test_tokens_are_checked(project, token):
    assert send(body(span())).status == 401
    assert send(body(span()), "lsk_no_one").status == 401
    assert send(body(span()), tokens.issue(project, "reads", ["read"])).status == 403
    assert send(body(span()), token, method="GET").status == 405
    assert send(b"", token, path="/v1/nothing").status == 404


def test_metrics_are_counted_and_dropped(token):
    answer = send(b'{"resourceMetrics":[{"scopeMetrics":[]}]}', token, path="/v1/metrics")

    assert (answer.status, answer.json) == (200, {})
    assert not JournalEvent.objects.exists()


def test_what_a_runtime_adds_to_a_prompt_is_no_part_of_it(token):
    texts = ("<session_context>\nThe date is Monday.", "Weather in Oslo?")
    parts = [{"type": "text", "content": text} for text in texts]
    sent = span()
    messages = json.dumps([{"role": "user", "parts": parts}])
    sent["attributes"].append({"key": "gen_ai.input.messages", "value": {"stringValue": messages}})
    assert send(body(sent), token).status == 200
    assert Session.objects.get().title == "Weather in Oslo?"


def test_noise_costs_no_record(token):
    noise = [span(spanId=f"{number:016x}", name="poll", attributes=[]) for number in range(1, 601)]
    scope = {"scope": {"name": "codex_exec"}, "spans": noise}
    send(json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [scope]}]}).encode(), token)
    read()

    assert JournalEvent.objects.filter(kind="line").count() == 600
    assert not Session.objects.exists()
    assert not EventRecord.objects.exclude(session=None).exists()


def test_repeated_history_is_stored_once(token):
    """A text of 98 kB that each later model call repeats once more."""
    text = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(1_532))[:98_000]
    for number in range(1, 9):
        messages = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}] * number)
        history = {"key": "gen_ai.input.messages", "value": {"stringValue": messages}}
        send(body(span(spanId=f"{number:016x}", attributes=[*span()["attributes"], history])), token)
    read()

    lines = JournalEvent.objects.filter(kind="line").order_by("pk")
    assert sum(lines.values_list("size", flat=True)) > 30 * len(text)
    assert sum(len(line.own) for line in lines) < 10 * len(text), "each new message once"
    assert [*texts(lines.values_list("pk", flat=True)).values()][-1].count(text.encode()) == 8
