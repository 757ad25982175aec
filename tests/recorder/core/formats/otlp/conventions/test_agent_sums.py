"""What an agent reports above the model calls in and below its loop is said once, and in no sum."""

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span


def usage(total_in, output):
    return {"gen_ai.usage.input_tokens": total_in, "gen_ai.usage.output_tokens": output}


def agent(total_in=470, output=55, *, number=1, parent=0, **more):
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"a{number}"}
    return span(attributes | usage(total_in, output), name="a", number=number, parent=parent, to=9, **more)


def call(total_in=210, output=24, *, number=2, parent=1, at=1):
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    return span(attributes | usage(total_in, output), number=number, parent=parent, at=at)


def notices(*items):
    found = of_type(items, "Notice")
    assert of_type(items[::-1], "Notice") == found
    assert all(each["code"] == "agent_usage_above_calls" for each in found)
    return [(each["loop_id"][-16:], each["text"]) for each in found]


def test_the_rest_is_said_and_in_no_sum():
    ((_, text),) = notices(agent(), call())
    assert text == (
        "The agent reports 470 tokens in and 55 out, its model calls 210 and 24:"
        " 260 in and 31 out are of no call that arrived, and in no sum."
    )
    (end,) = of_type([agent(), call()], "AgentEnd")
    assert (end["usage"]["input"], end["usage"]["output"]) == (210, 24)


@pytest.mark.parametrize("items", [
    [agent(), call(), call(260, 31, number=3, at=3)],
    [agent(210, 24), call(), agent(260, 31, number=3, parent=1), call(260, 31, number=4, parent=3)],
    [agent(470, 57), call(), call(260, 31, number=3, at=3)],  # a token more a call
    [agent()],  # it is the call itself
    [agent(), span({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, number=2, parent=1)],
    [agent(scope="codex_core"), call()],  # which has the sum of its thread
], ids=["all calls", "own calls", "stream", "no call", "no figures", "codex"])  # fmt: skip
def test_without_a_rest_there_is_no_notice(items):
    assert notices(*items) == []


def test_a_rest_of_an_inner_agent_is_none_of_the_outer_one():
    inner = agent(300, 40, number=3, parent=1)
    items = [agent(510, 64), call(), inner, call(100, 10, number=4, parent=3)]
    ((loop, text),) = notices(*items)
    assert loop.endswith("3")
    assert "200 in and 30 out" in text


def test_input_alone_or_output_alone_may_be_above():
    ((_, text),) = notices(agent(210, 99), call())
    assert "0 in and 75 out" in text
    ((_, text),) = notices(agent(400, 0), call())
    assert "190 in and 0 out" in text
