"""Spans of Genkit: models are calls with their texts and figures, tools and agents what they are."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span


def action(kind, name, sent, answer, **more):
    attributes = {
        "genkit:type": "action",
        "genkit:metadata:subtype": kind,
        "genkit:name": name,
        "genkit:input": json.dumps(sent),
        "genkit:output": json.dumps(answer),
    }
    return span(attributes, name=name, scope="genkit-tracer", **more)


ASKED = {
    "messages": [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {"role": "user", "content": [{"text": "Menu?"}]},
    ],
    "config": {"temperature": 0.5},
}
USAGE = {
    "inputTokens": 12,
    "outputTokens": 8,
    "totalTokens": 23,
    "thoughtsTokens": 3,
    "cachedContentTokens": 2,
}
REQUEST = {"toolRequest": {"name": "menu", "ref": "c1", "input": {"day": "mo"}}}
CALLS = {"message": {"role": "model", "content": [{"reasoning": "hm"}, REQUEST]}, "usage": USAGE}
ANSWER = {
    "finishReason": "stop",
    "message": {"role": "model", "content": [{"text": "Pizza"}]},
    "usage": USAGE,
}
RESULT = {"role": "tool", "content": [{"toolResponse": {"name": "menu", "ref": "c1", "output": "Pizza"}}]}
GEMINI = "googleai/gemini-2.5-flash"


@pytest.mark.parametrize("answer", [ANSWER, {"candidates": [ANSWER], "usage": USAGE}])
def test_a_model_is_a_call(answer):
    flow = action("flow", "menuFlow", "Menu?", "Pizza", to=9)
    item = action("model", GEMINI, ASKED, answer, number=2, parent=1, to=3)
    found = [flow, item]

    texts = [
        (event["message"]["role"], [block["text"] for block in event["message"]["content"]])
        for event in of_type(found, "MessageEnd")
    ]
    assert texts == [("user", ["Menu?"]), ("assistant", ["Pizza"])]
    [end] = of_type(found, "TurnEnd")
    figures = {name: end["usage"][name] for name in ("input", "cache_read", "output", "reasoning")}
    assert figures == {"input": 10, "cache_read": 2, "output": 11, "reasoning": 3}
    about = end["message"]
    assert (about["model"], about["provider"]) == ("gemini-2.5-flash", "google")
    [start] = of_type(found, "AgentStart")
    assert start["agent_id"] == "menuFlow"


def test_a_tool_is_the_call_that_the_model_asked_for():
    sent = ASKED | {"messages": [*ASKED["messages"], CALLS["message"], RESULT]}
    items = [
        action("flow", "menuFlow", "Menu?", "Pizza", to=9),
        action("model", GEMINI, ASKED, CALLS, number=2, parent=1, to=2),
        action("tool.v2", "menu", {"day": "mo"}, "Pizza", number=3, parent=1, at=2, to=3),
        action("model", GEMINI, sent, ANSWER, number=4, parent=1, at=3, to=4),
    ]
    assert events(items[::-1]) == events(items)
    [start], [end] = of_type(items, "ToolExecutionStart"), of_type(items, "ToolExecutionEnd")
    assert (start["tool_call_id"], start["tool_name"], start["args"]) == ("c1", "menu", {"day": "mo"})
    assert end["result"]["content"] == [{"type": "text", "text": "Pizza"}]
    thought = of_type(items, "MessageEnd")[1]["message"]["content"][0]
    assert thought == {"type": "thinking", "thinking": "hm"}


def test_an_agent_is_a_loop_and_other_spans_are_frames():
    assert action("agent", "guide", "", "").digest.kind == "agent"
    for kind in ("flow", "prompt", "util", "retriever", "embedder"):
        assert action(kind, "x", ASKED, ANSWER).digest.kind == "frame"


@pytest.mark.parametrize("value", ["", "{", "[]", '{"message": 7, "messages": [7]}'])
def test_a_model_without_readable_content_is_a_call(value):
    attributes = {"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:input": value}
    [end] = of_type([span(attributes | {"genkit:output": value}, name=GEMINI)], "TurnEnd")
    assert end["has_usage"] is False
