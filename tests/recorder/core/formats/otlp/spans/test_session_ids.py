"""Session ids that senders write as numbers."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.conversation.id": 7},
        {"session.id": 7},
        {"traceloop.association.properties.thread_id": 7},
        {"metadata": json.dumps({"thread_id": 7})},
        {"metadata": json.dumps({"session_id": 7, "thread_id": "other"})},
        {"metadata": {"thread_id": 7}},
        {"session.id": 7.0},
    ],
)
def test_an_integer_is_a_session_id_as_text(attributes):
    [start] = of_type([span(CHAT | attributes)], "AgentStart")

    assert start["session_id"] == "7"


@pytest.mark.parametrize("other", [True, 7.5, "", "null", [7]])
def test_other_values_are_no_session_id(other):
    assert span(CHAT | {"session.id": other}).digest.session == ""
