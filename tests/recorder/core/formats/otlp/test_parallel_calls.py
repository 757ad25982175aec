"""Parallel calls without ids are paired by their arguments; the status of a tool counts before words."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CITIES = ("Oslo", "Lima", "Bern")
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
OK = {"status": {"code": 1}}


def answer(ids=("", "", ""), cities=CITIES):
    """Return a model call whose answer asks for the weather of cities at once."""
    parts = [
        {"type": "tool_call", "name": "get_weather", "arguments": {"city": city}, "id": call_id}
        for city, call_id in zip(cities, ids, strict=True)
    ]
    return span(MODEL | {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])})


def tool(number, city, at, to, call_id="", name="get_weather"):
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.result": f"of {city}",
        **({"gen_ai.tool.call.arguments": json.dumps({"city": city})} if city else {}),
        **({"gen_ai.tool.call.id": call_id} if call_id else {}),
    }
    return span(attributes, name=f"execute_tool {name}", number=number, at=at, to=to)


def pairs(*items):
    """Return by id of a call the city that it is given and the result."""
    starts, ends = of_type(items, "ToolExecutionStart"), of_type(items, "ToolExecutionEnd")
    results = {each["tool_call_id"]: each["result"]["content"][0]["text"] for each in ends}
    return {
        each["tool_call_id"].rpartition("-")[0] or each["tool_call_id"]: (
            each["args"].get("city"),
            results[each["tool_call_id"]],
        )
        for each in starts
    }


def unnamed(*cities):
    return {f"unnamed-call-{place}": (city, f"of {city}") for place, city in enumerate(cities)}


@pytest.mark.parametrize("call_id", ["", "x"])
@pytest.mark.parametrize("name", ["get_weather", "Get Weather"])
def test_calls_without_ids_are_paired_by_arguments(call_id, name):
    tools = [
        tool(number, city, 1 + number / 10, 4, call_id and f"{call_id}{number}", name)
        for number, city in ((2, "Bern"), (3, "Oslo"), (4, "Lima"))
    ]
    assert pairs(answer(), *tools) == unnamed(*CITIES)
    assert pairs(answer(), *tools[::-1]) == unnamed(*CITIES)


def test_tools_without_ids_are_paired_with_named_calls_by_arguments():
    tools = [tool(2, "Bern", 1, 4), tool(3, "Oslo", 2, 3), tool(4, "Lima", 3, 4)]
    assert pairs(answer(CITIES), *tools) == {city: (city, f"of {city}") for city in CITIES}


def test_equal_calls_are_paired_in_order_and_one_without_arguments_gets_what_is_left():
    twice = answer(cities=("Oslo", "Oslo", "Bern"))
    assert pairs(twice, tool(2, "Bern", 1, 2), tool(3, "Oslo", 2, 3), tool(4, "Oslo", 2.5, 3)) == unnamed(
        "Oslo", "Oslo", "Bern"
    )
    assert pairs(answer(), tool(2, "", 1, 2), tool(3, "Oslo", 2, 3), tool(4, "Bern", 2.5, 3)) == {
        **unnamed(*CITIES),
        "unnamed-call-1": ("Lima", "of "),
    }


def failed(result, status, words):
    """Return whether a tool failed by its span and by the message with its result."""
    call = {"type": "tool_call", "name": "t", "arguments": {}, "id": "c"}
    sent = {"type": "tool_call_response", "id": "c", "response": words, **result}
    messages = [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [sent]}]
    asked = MODEL | {"gen_ai.output.messages": json.dumps(messages[:1])}
    followed = MODEL | {"gen_ai.input.messages": json.dumps(messages)}
    run = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "c"}
    items = [span(asked), span(run, number=2, at=1, **status), span(followed, number=3, at=3)]
    [end] = of_type(items, "ToolExecutionEnd")
    return end["is_error"]


def test_the_words_of_a_message_do_not_overrule_a_status():
    assert failed({}, {}, "Error: no budget")
    assert not failed({}, OK, "Error: no budget")
    assert failed({"isError": True}, OK, "no budget")
    assert not failed({"isError": False}, {}, "Error: no budget")
