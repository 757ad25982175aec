"""Messages that are log records or span events of their own, one a message."""

import json
import random

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, log, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.system": "openai"}


def function(call_id, city):
    arguments = json.dumps({"city": city})
    return {"id": call_id, "type": "function", "function": {"name": "get_weather", "arguments": arguments}}


CALLS = [function("c1", "Oslo"), function("c2", "Rome")]
FIRST = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"content": "Weather?"}),
]
REQUESTED = ("gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": CALLS}})
SECOND = [
    *FIRST,
    ("gen_ai.assistant.message", {"tool_calls": CALLS}),
    ("gen_ai.tool.message", {"id": "c1", "content": "rain"}),
    ("gen_ai.tool.message", {"id": "c2", "content": "Error: no such city"}),
]
ANSWERED = ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "Rain."}})
THIRD = [
    *SECOND,
    ("gen_ai.assistant.message", {"content": "Rain."}),
    ("gen_ai.user.message", {"content": "And now?"}),
]
LAST = ("gen_ai.choice", {"finish_reason": "stop", "message": {"role": "assistant", "content": "Sun."}})
TURNS = [[*FIRST, REQUESTED], [*SECOND, ANSWERED], [*THIRD, LAST]]


def root():
    return span({"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent a", number=9, to=9)


def as_records(step=1e-6):
    """Return spans, each with a log record for each of its messages."""
    items = [root()]
    for turn, messages in enumerate(TURNS):
        number, at = turn + 1, 2 * turn + 1
        items.append(span(CHAT, number=number, parent=9, at=at))
        items += [
            log(name, body=body, number=number, at=at + step * place)
            for place, (name, body) in enumerate(messages)
        ]
    return items


def as_span_events():
    """Return spans with an event for each message; attributes hold no objects but as JSON."""
    items = [root()]
    for turn, messages in enumerate(TURNS):
        flat = [
            (name, {key: json.dumps(value) if isinstance(value, list | dict) else value
                    for key, value in body.items()})
            for name, body in messages
        ]  # fmt: skip
        items.append(span(CHAT, number=turn + 1, parent=9, at=2 * turn + 1, events=flat))
    return items


def as_azure_events():
    """Return spans whose events have their fields as JSON in one attribute."""
    return [
        root(),
        *(
            span(CHAT, number=turn + 1, parent=9, at=2 * turn + 1, events=[
                (name, {"gen_ai.event.content": json.dumps(body)}) for name, body in messages
            ])
            for turn, messages in enumerate(TURNS)
        ),
    ]  # fmt: skip


def shuffled():
    return random.Random(3).sample(items := as_records(), len(items))


@pytest.mark.parametrize("lines", [as_records, as_span_events, as_azure_events, shuffled])
def test_messages_of_their_own_are_those_of_their_call(lines):
    found = events(lines())

    messages = [event["message"] for kind, event in found if kind == "MessageEnd"]
    assert [(each["role"], [block.get("text") for block in each["content"]]) for each in messages] == [
        ("user", ["Weather?"]),
        ("assistant", [None, None]),
        ("assistant", ["Rain."]),
        ("user", ["And now?"]),
        ("assistant", ["Sun."]),
    ]
    assert [event["payload"]["system_prompt"] for kind, event in found if kind == "TurnRequest"] == [
        "Be brief."
    ]
    starts = [event for kind, event in found if kind == "ToolExecutionStart"]
    assert [(each["tool_call_id"], each["args"]) for each in starts] == [
        ("c1", {"city": "Oslo"}),
        ("c2", {"city": "Rome"}),
    ]
    ends = [event for kind, event in found if kind == "ToolExecutionEnd"]
    assert [(each["result"]["content"][0]["text"], each["is_error"]) for each in ends] == [
        ("rain", False),
        ("Error: no such city", True),
    ]


def test_the_reason_to_finish_is_that_of_the_choice():
    found = events(as_records())

    answers = [event["message"] for kind, event in found if kind == "MessageEnd"]
    assert [each["stopReason"] for each in answers if each["role"] == "assistant"] == [
        "tool_calls",
        "stop",
        "stop",
    ]


def test_records_of_one_time_are_read_in_the_usual_order():
    items = [span(CHAT, at=1), *(log(name, body=body, at=1) for name, body in reversed(TURNS[0]))]

    found = events(items)
    messages = [event["message"] for kind, event in found if kind == "MessageEnd"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert [event["payload"]["system_prompt"] for kind, event in found if kind == "TurnRequest"] == [
        "Be brief."
    ]


def test_records_without_content_leave_the_call_as_it_is():
    items = [span(CHAT), log("gen_ai.user.message"), log("gen_ai.choice", body={"finish_reason": "stop"})]

    kinds = [kind for kind, _ in events(items)]
    assert kinds == ["AgentStart", "TurnStart", "MessageEnd", "TurnEnd", "AgentEnd"]


def test_a_record_whose_body_is_json_text_is_read():
    items = [span(CHAT), log("gen_ai.choice", body=json.dumps({"message": {"content": "Hi."}}))]

    [answer] = [event["message"] for kind, event in events(items) if kind == "MessageEnd"]
    assert answer["content"] == [{"type": "text", "text": "Hi."}]


def test_a_record_whose_body_is_a_plain_text_is_a_message():
    items = [span(CHAT), log("gen_ai.user.message", body="Hello?"), log("gen_ai.choice", body="Hi.")]

    messages = [event["message"] for kind, event in events(items) if kind == "MessageEnd"]
    assert [message["content"][0]["text"] for message in messages] == ["Hello?", "Hi."]


def test_choices_in_records_of_one_time_are_one_answer_in_their_order():
    choices = [{"index": index, "message": {"content": text}} for index, text in enumerate(("Rain.", "Sun."))]
    records = [log("gen_ai.choice", body=choice) for choice in choices]

    for items in ([span(CHAT), *records], [*records[::-1], span(CHAT)]):
        [answer] = [event["message"] for kind, event in events(items) if kind == "MessageEnd"]
        assert [block["text"] for block in answer["content"]] == ["Rain.", "Sun."]


def test_events_without_a_choice_end_with_the_answer():
    told = [("gen_ai.user.message", {"content": "Hello?"}), ("gen_ai.assistant.message", {"content": "Hi."})]

    messages = [e["message"] for kind, e in events([span(CHAT, events=told)]) if kind == "MessageEnd"]
    assert [(each["role"], each["content"][0]["text"]) for each in messages] == [
        ("user", "Hello?"),
        ("assistant", "Hi."),
    ]


DETAILS = "gen_ai.client.inference.operation.details"
CALL = CHAT | {
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Hello?"}]}],
    "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Hi."}]}],
}


def test_a_record_with_the_details_of_a_call_is_the_call_where_its_span_is_missing():
    found = events([log(DETAILS, CALL)])

    messages = [event["message"] for kind, event in found if kind == "MessageEnd"]
    assert [message["content"][0]["text"] for message in messages] == ["Hello?", "Hi."]
    assert messages[-1]["stopReason"] == "stop"
    [end] = [event for kind, event in found if kind == "TurnEnd"]
    assert (end["usage"]["input"], end["usage"]["output"]) == (100, 20)
    assert [event["outcome"] for kind, event in found if kind == "AgentEnd"] == ["completed"]


def test_a_record_with_the_details_of_a_call_is_no_call_beside_its_span():
    for items in ([span(CALL), log(DETAILS, CALL)], [log(DETAILS, CALL), span(CHAT)]):
        assert [kind for kind, _ in events(items)].count("TurnEnd") == 1
