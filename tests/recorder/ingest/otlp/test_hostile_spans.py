"""Each hostile span or body gets the status of the protocol, its neighbours are stored, pages show text."""

import base64
import gzip
import json
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.test import Client as Browser
from django.urls import reverse
from google.protobuf.json_format import ParseDict, ParseError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from recorder.models import JournalEvent, LoopRecord, QuarantinedLine, Session, ToolCall, Turn, WaitingSpans
from recorder.operations.integrity_check import findings
from tests.support.endpoint_clients import HOST, request
from tests.support.wait import until

PROTOBUF, JSON = "application/x-protobuf", "application/json"
START = 1_771_000_000_000_000_000
TRACE, OTHER = "0af7651916cd43dd8448eb211c80319c", "1bf7651916cd43dd8448eb211c80319c"
SCRIPT = "<script>window.__pwned=1</script><img src=x onerror=window.__pwned=1>"


def send(body, token, *, path="/v1/traces", media=JSON, **headers):
    given = {"authorization": f"Bearer {token}", "content-type": media, **headers}
    pairs = [(name.encode(), value.encode()) for name, value in given.items()]
    return request(path, body, method="POST", headers=[HOST, *pairs])


def value(plain):
    """Return a plain value as an AnyValue."""
    match plain:
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": str(plain)}
        case float():
            return {"doubleValue": plain}
        case str():
            return {"stringValue": plain}
    return plain


def attributes(**given):
    return [{"key": name.replace("__", "."), "value": value(each)} for name, each in given.items()]


CHAT = {
    "gen_ai__operation__name": "chat",
    "gen_ai__request__model": "m",
    "gen_ai__conversation__id": "talk",
    "gen_ai__usage__input_tokens": 12,
    "gen_ai__usage__output_tokens": 3,
}


def chat(number, more=None, **fields):
    """Return the span of a model call; `more` replaces attributes, None removes one."""
    found = {name: each for name, each in {**CHAT, **(more or {})}.items() if each is not None}
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": str(START + number * 10**9),
        "endTimeUnixNano": str(START + number * 10**9 + 10**8),
        "attributes": attributes(**found),
        **fields,
    }


def tool(number, more=None, **fields):
    about = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "t", **(more or {})}
    return chat(number, {**dict.fromkeys(CHAT), **about}, **{"name": "execute_tool t", **fields})


def traces(*spans):
    return {
        "resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "s"}, "spans": list(spans)}]}]
    }


def messages(*texts):
    return json.dumps([{"role": "user", "parts": [{"type": "text", "content": each}]} for each in texts])


def nested(depth, inner=None):
    for _ in range(depth):
        inner = {"arrayValue": {"values": [inner or {"intValue": "1"}]}}
    return inner


HOSTILE = {  # name: (span, whether it is stored)
    "script-in-every-text": (
        chat(
            5,
            {
                "gen_ai__input__messages": messages(SCRIPT),
                "gen_ai__output__messages": messages(SCRIPT).replace("user", "assistant"),
                "gen_ai__request__model": SCRIPT,
                "gen_ai__provider__name": SCRIPT,
                "gen_ai__agent__name": SCRIPT,
                "error__type": SCRIPT,
            },
            status={"code": 2, "message": SCRIPT},
            name=SCRIPT,
        ),
        True,
    ),
    "script-in-a-tool": (
        tool(
            5,
            {
                "gen_ai__tool__name": SCRIPT,
                "gen_ai__tool__call__id": SCRIPT,
                "gen_ai__tool__call__arguments": json.dumps({SCRIPT: SCRIPT}),
                "gen_ai__tool__call__result": SCRIPT,
            },
        ),
        True,
    ),
    "nul": (chat(5, {"gen_ai__agent__name": "a\x00b", "gen_ai__input__messages": messages("\x00")}), True),
    "lone-surrogate": (
        chat(5, {"gen_ai__request__model": "\ud800", "gen_ai__input__messages": messages("\udfff")}),
        True,
    ),
    "bidi-and-control-characters": (
        chat(5, {"gen_ai__agent__name": "\u202egpj.exe\x1b[31m", "gen_ai__response__id": "\u2066\x07"}),
        True,
    ),
    "names-of-600-bytes": (
        tool(5, {"gen_ai__tool__name": "界" * 200, "gen_ai__tool__call__id": "界" * 200}),
        True,
    ),
    "tokens-below-zero": (chat(5, {"gen_ai__usage__input_tokens": -1}), True),
    "tokens-of-64-bits": (chat(5, {"gen_ai__usage__output_tokens": 2**63 - 1}), True),
    "tokens-as-words": (chat(5, {"gen_ai__usage__input_tokens": "many"}), True),
    "tokens-not-a-number": (chat(5, {"gen_ai__usage__input_tokens": {"doubleValue": "NaN"}}), True),
    "cost-infinite": (chat(5, {"gen_ai__usage__cost": "1e999"}), True),
    "cost-below-zero": (chat(5, {"gen_ai__usage__cost": -5.0}), True),
    "operation-is-a-list": (chat(5, {"gen_ai__operation__name": nested(1)}), True),
    "messages-not-json": (chat(5, {"gen_ai__input__messages": '[{"role":'}), True),
    "messages-of-wrong-types": (
        chat(5, {"gen_ai__input__messages": '[null,1,{"role":{},"parts":7},{"parts":[null,[],{"type":3}]}]'}),
        True,
    ),
    "messages-300-deep": (chat(5, {"gen_ai__input__messages": "[" * 300 + "]" * 300}), True),
    "arguments-with-nan": (tool(5, {"gen_ai__tool__call__arguments": '{"max":NaN,"min":-Infinity}'}), True),
    "arguments-twice-the-same-key": (tool(5, {"gen_ai__tool__call__arguments": '{"a":1,"a":2}'}), True),
    "attributes-without-keys": (chat(5, attributes=[{}, {"key": "", "value": {}}, {"key": "a"}]), True),
    "no-attributes": (chat(5, attributes=[]), True),
    "value-nested-30-deep": (chat(5, {"gen_ai__input__messages": nested(30)}), True),
    "value-nested-200-deep": (chat(5, {"gen_ai__input__messages": nested(200)}), False),
    "end-before-start": (chat(5, endTimeUnixNano="1"), True),
    "no-times": (chat(5, startTimeUnixNano="0", endTimeUnixNano="0"), True),
    "times-of-the-year-2554": (chat(5, endTimeUnixNano=str(2**64 - 1)), True),
    "its-own-parent": (chat(5, parentSpanId=f"{5:016x}"), True),
    "parents-in-a-ring": (chat(5, parentSpanId=f"{6:016x}"), True),
    "unknown-status": (chat(5, status={"code": 99}), True),
    "a-megabyte-of-text": (chat(5, {"gen_ai__input__messages": messages("x" * 1_000_000)}), True),
    "ids-of-zeros": (chat(5, spanId="0" * 16), False),
    "short-trace-id": (chat(5, traceId="abcd"), False),
    "no-ids": (chat(5, traceId="", spanId=""), False),
}


def neighbours():
    """Return a good span of the same trace, and one of another trace and session."""
    own = {"gen_ai__conversation__id": "other", "gen_ai__input__messages": messages("A good neighbour.")}
    return chat(1), chat(6, own, traceId=OTHER)


def protobuf(body):
    """Return a body in protobuf, None if protobuf cannot express it."""
    raw = json.loads(json.dumps(body))
    for span in raw["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):  # hex in OTLP/JSON, base64 in protobuf's JSON
            if name in span:
                span[name] = _base64(span[name])
    try:
        return ParseDict(raw, ExportTraceServiceRequest()).SerializeToString()
    except (ParseError, UnicodeEncodeError, RecursionError):
        return None


def _base64(digits):
    return base64.b64encode(bytes.fromhex(digits)).decode()


def read():
    until(lambda: not WaitingSpans.objects.exists(), "acknowledged spans are not read")


def spans_sent():
    """Yield name, encoding, and body of each hostile span, in the encodings that can express it."""
    for name, (span, _) in HOSTILE.items():
        before, after = neighbours()
        body = traces(before, span, after)
        yield pytest.param(name, JSON, json.dumps(body).encode(), id=f"{name}-json")
        if (content := protobuf(body)) is not None:
            yield pytest.param(name, PROTOBUF, content, id=f"{name}-protobuf")


@pytest.mark.parametrize(("name", "encoding", "content"), list(spans_sent()))
def test_a_hostile_span_costs_only_itself(token, name, encoding, content):
    is_stored = HOSTILE[name][1]

    answer = send(content, token, media=encoding)
    read()

    assert answer.status == 200
    assert rejected(answer, encoding) == (0 if is_stored else 1)
    assert JournalEvent.objects.filter(kind="line").count() == (3 if is_stored else 2)
    assert QuarantinedLine.objects.count() == (0 if is_stored else 1)
    other = Session.objects.get(session_id="other")
    assert (other.turns, other.title, other.input_tokens) == (1, "A good neighbour.", 12)
    assert Turn.objects.filter(loop__session__project__slug="default", input_tokens=12).count() >= 2
    assert list(findings()) == []


def test_pages_show_hostile_spans_as_text(token):
    """All of them in one project, each in a trace and a session of its own."""
    for number, (span, _) in enumerate(HOSTILE.values(), 1):
        body = json.dumps(traces(neighbours()[0], span)).replace(TRACE, f"{number:032x}")
        assert send(body.replace('"talk"', f'"talk-{number}"').encode(), token).status == 200
    read()

    stored = sum(is_stored for _, is_stored in HOSTILE.values())
    assert JournalEvent.objects.filter(kind="line").count() == len(HOSTILE) + stored
    assert Session.objects.filter(session_id__startswith="talk-").count() == len(HOSTILE)
    check_pages()


def rejected(answer, encoding):
    if encoding == JSON:
        return int(answer.json.get("partialSuccess", {}).get("rejectedSpans", 0))
    return ExportTraceServiceResponse.FromString(answer.body).partial_success.rejected_spans


def check_pages():
    """Every page of every session answers, and holds no markup of the sender."""
    browser = Browser(headers={"host": "127.0.0.1"})
    browser.force_login(User.objects.create_superuser("reader"))
    paths = [reverse(name, args=["default"]) for name in ("sessions", "integrity", "costs", "attention")]
    for session in Session.objects.all():
        paths.append(reverse("session", args=["default", session.pk]))
        for loop in LoopRecord.objects.filter(session=session):
            page = reverse("loop", args=["default", session.pk, loop.pk])
            paths += [f"{page}?tab={tab}" for tab in ("conversation", "timeline", "events", "json")]
    for path in paths:
        answer = browser.get(path, follow=True)
        assert answer.status_code == 200, path
        assert "<script>window.__pwned" not in answer.content.decode()
        assert "<img src=x" not in answer.content.decode()


BODIES = {  # name: (body, headers, status)
    "empty-json": (b"", {}, 400),
    "a-list": (b"[]", {}, 400),
    "text": (b'"resourceSpans"', {}, 400),
    "cut": (json.dumps(traces(chat(1))).encode()[:-20], {}, 400),
    "two-values": (b"{}{}", {}, 400),
    "not-utf-8": (b'{"resourceSpans":[{"schemaUrl":"\xff"}]}', {}, 400),
    "100000-deep": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", {}, 400),
    "nothing": (b"{}", {}, 200),
    "other-keys": (b'{"resource_spans":[],"constructor":{},"__proto__":{}}', {}, 400),
    "protobuf-cut": (protobuf(traces(chat(1)))[:-3], {"media": PROTOBUF}, 400),
    "protobuf-of-ff": (b"\xff" * 1000, {"media": PROTOBUF}, 400),
    "protobuf-length-bomb": (b"\x0a\xff\xff\xff\xff\x0f", {"media": PROTOBUF}, 400),
    "protobuf-groups-100000-deep": (b"\x0b" * 100_000 + b"\x0c" * 100_000, {"media": PROTOBUF}, 400),
    "json-sent-as-protobuf": (json.dumps(traces(chat(1))).encode(), {"media": PROTOBUF}, 400),
    "protobuf-sent-as-json": (protobuf(traces(chat(1))), {}, 400),
    "gzip-that-is-none": (b"{}", {"content-encoding": "gzip"}, 400),
    "gzip-cut": (gzip.compress(b"{}")[:-4], {"content-encoding": "gzip"}, 400),
    "gzip-bomb": (gzip.compress(b" " * 64 * 1024 * 1024), {"content-encoding": "gzip"}, 413),
    "gzip-in-gzip": (gzip.compress(gzip.compress(b"{}")), {"content-encoding": "gzip"}, 400),
    "not-deflate": (b"{}", {"content-encoding": "deflate"}, 400),
    "brotli": (b"{}", {"content-encoding": "br"}, 415),
    "form": (b"a=1", {"media": "application/x-www-form-urlencoded"}, 415),
}


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_is_answered_and_the_next_one_is_stored(token, name, path):
    body, headers, status = BODIES[name]

    answer = send(body, token, path=path, **headers)

    assert answer.status == status
    if status == 200:
        assert answer.json == {}
    elif answer.headers["content-type"] == JSON:
        assert answer.json["message"]
    assert JournalEvent.objects.count() == 0
    assert send(json.dumps(traces(chat(1))).encode(), token).status == 200
    assert Turn.objects.count() == 1


RECORDS = {
    "no-body": {},
    "numbers-for-texts": {"severityText": 7, "body": 3, "attributes": "none", "timeUnixNano": []},
    "ids-of-no-span": {"traceId": "zz", "spanId": 5, "body": {"stringValue": SCRIPT}},
    "event-name-is-a-list": {"eventName": [], "attributes": attributes(event__name=nested(2))},
    "texts": {"eventName": SCRIPT, "attributes": attributes(prompt=SCRIPT, session__id="\x00\u202e")},
}


def records_sent():
    good = {"timeUnixNano": str(START), "body": {"stringValue": "good"}}
    for name, record in RECORDS.items():
        body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [good, record, good | {"flags": 1}]}]}]}
        yield pytest.param(JSON, json.dumps(body).encode(), id=f"{name}-json")
        with suppress(ParseError):
            content = ParseDict(body, ExportLogsServiceRequest()).SerializeToString()
            yield pytest.param(PROTOBUF, content, id=f"{name}-protobuf")


@pytest.mark.parametrize(("encoding", "content"), list(records_sent()))
def test_a_hostile_log_record_costs_only_itself(token, encoding, content):
    assert send(content, token, path="/v1/logs", media=encoding).status == 200
    read()
    assert JournalEvent.objects.filter(kind="line").count() == 3
    check_pages()


def test_tool_calls_without_ids_are_numbered_by_their_place(token):
    """Gemini's API names no ids: neither for the calls of an answer, nor for the results it is sent."""
    calls = [{"functionCall": {"name": name, "args": {"n": n}}} for n, name in enumerate("aba")]
    results = [{"functionResponse": {"name": "x", "response": {"output": f"result {n}"}}} for n in range(3)]
    answers = {"gen_ai__output__messages": json.dumps([{"role": "model", "parts": calls}])}
    history = [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    sent_on = {"gen_ai__input__messages": json.dumps(history)}
    for number, trace in ((1, TRACE), (3, OTHER)):
        own = {"gen_ai__conversation__id": None}
        spans = chat(number, answers | own, traceId=trace), chat(number + 1, sent_on | own, traceId=trace)
        body = traces(*spans)
        assert send(json.dumps(body).encode(), token).status == 200
    read()

    assert Session.objects.count() == 2, "calls without ids join nothing"
    found = ToolCall.objects.filter(loop__loop_id=LoopRecord.objects.earliest("pk").loop_id).order_by("pk")
    assert [each.tool_name for each in found] == ["a", "b", "a"]
    assert [each.state for each in found] == ["done"] * 3
