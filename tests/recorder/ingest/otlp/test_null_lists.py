"""OTLP/JSON with null in place of a list: JSON of protobuf reads null as an absent field."""

import json

import pytest

from recorder.ingest.otlp.bodies import Unreadable, lines_of

LISTS = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
}


def lines(signal, body):
    return lines_of(signal, json.dumps(body).encode(), is_json=True).lines


@pytest.mark.parametrize("signal", LISTS)
def test_a_list_that_is_null_is_an_absent_list(signal):
    outer, inner, name = LISTS[signal]

    for body in ({outer: None}, {outer: [{inner: None}]}, {outer: [{inner: [{name: None}]}]}, {}):
        assert lines(signal, body) == []


def test_spans_beside_a_null_list_are_read():
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "attributes": None, "events": None}
    body = {"resourceSpans": [{"scopeSpans": None}, {"scopeSpans": [{"spans": None}, {"spans": [span]}]}]}

    [line] = lines("traces", body)

    assert json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"] == [span]


@pytest.mark.parametrize("body", [None, [], 7, {"resourceSpans": {}}, {"resourceSpans": False}])
def test_other_values_are_no_export_request(body):
    with pytest.raises(Unreadable):
        lines("traces", body)
