"""Models that give each first call of an answer one id, such as `call_0`: each turn has its own tools."""

import json

from tests.recorder.core.formats.otlp.spans.lines import events as events_of
from tests.recorder.core.formats.otlp.spans.lines import log, of_type, span

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
ASK = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_0", "name": "look", "arguments": {}}]}


def sent(result):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_0", "response": result}]}


def call(number, at, history, answer):
    messages = {"gen_ai.input.messages": history, "gen_ai.output.messages": [answer]}
    texts = {name: json.dumps(value) for name, value in messages.items()}
    return span(MODEL | texts, number=number, parent=1, at=at, to=at + 1)


def tool(number, at, result):
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    told = {"gen_ai.tool.call.id": "call_0", "gen_ai.tool.call.result": result}
    return span(about | told, number=number, parent=1, at=at, to=at + 0.5)


USER = {"role": "user", "parts": [{"type": "text", "content": "Look twice."}]}
DONE = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}
RUN = [
    span(AGENT, name="invoke_agent helper", number=1, to=20),
    call(2, 1, [USER], ASK),
    tool(3, 2.1, "one"),
    call(4, 3, [USER, ASK, sent("one")], ASK),
    tool(5, 4.1, "two"),
    call(6, 5, [USER, ASK, sent("one"), ASK, sent("two")], DONE),
]


def results(items):
    """Return the results of the tools of each turn."""
    turns = []
    for kind, event in events_of(items):
        if kind == "TurnStart":
            turns.append([])
        elif kind == "ToolExecutionEnd":
            turns[-1].append(event["result"]["content"][0]["text"])
    return turns


def test_a_tool_belongs_to_the_last_answer_before_it_that_asked_for_its_id():
    assert results(RUN) == [["one"], ["two"], []]
    assert results(RUN[::-1]) == [["one"], ["two"], []]


def test_a_tool_that_began_before_every_answer_with_its_id_belongs_to_the_first_one():
    early = [tool(3, 0.5, "one") if item is RUN[2] else item for item in RUN]
    assert results(early) == [["one"], ["two"], []]


def test_a_record_of_a_failed_tool_is_about_the_execution_before_it():
    failure = {"gen_ai.tool.call.id": "call_0", "tool_name": "look", "success": "false", "error": "boom"}
    record = log("tool_result", {"event.name": "tool_result", **failure}, number=5, at=4.7)

    ends = of_type([*RUN, record], "ToolExecutionEnd")
    assert [end["is_error"] for end in ends] == [False, True]
