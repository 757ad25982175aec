"""A tool call as its server sees it, in a trace of its own, is that of the client if something says so."""

import json

import pytest

from tests.recorder.core.formats.otlp import build

CITY = json.dumps({"city": "Oslo"})
IDS = {"mcp.method.name": "tools/call", "mcp.session.id": "m1", "jsonrpc.request.id": 7}
OF_SESSION = {"gen_ai.conversation.id": "s1"}


def run(number=0, session=OF_SESSION, **tool):
    """Return an agent with a tool call from second 3 to 5."""
    first, trace = 10 * number, f"a{number}"
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "guide"}
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"}
    call = about | {"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": CITY} | session | tool
    return [
        build.span(first + 1, None, "invoke_agent guide", (0, 9), agent | session, trace=trace),
        build.span(
            first + 2, first + 1, "Chat", (1, 2), build.llm([("c1", "get_weather", CITY)]), trace=trace
        ),
        build.span(first + 3, first + 1, "execute_tool get_weather", (3, 5), call, trace=trace),
    ]


def server(at=(3.5, 4.5), trace="bb", **attributes):
    about = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "get_weather"} | attributes
    return build.span(9, None, "tools/call get_weather", at, about, trace=trace, service="weather")


@pytest.mark.parametrize(("client", "attributes"), [
    ({}, OF_SESSION | {"gen_ai.tool.call.id": "c1"}),
    ({}, OF_SESSION | {"gen_ai.tool.call.arguments": CITY}),
    (IDS, IDS),
])  # fmt: skip
def test_the_call_of_a_server_in_a_trace_of_its_own_is_that_of_its_client(client, attributes):
    failed = attributes | {"error.type": "tool_error"}
    [loop] = build.loops([*run(**client), server(**failed)])

    assert (loop["session"], loop["agent"], loop["tools"]) == ("s1", "guide", [["c1", True]])


@pytest.mark.parametrize(("attributes", "at"), [
    ({"gen_ai.tool.call.id": "c1"}, (3.5, 4.5)),  # nothing says whose it is
    ({"gen_ai.conversation.id": "s2", "gen_ai.tool.call.id": "c1"}, (3.5, 4.5)),
    (OF_SESSION | {"gen_ai.tool.call.arguments": "{}"}, (3.5, 4.5)),
    (OF_SESSION | {"gen_ai.tool.call.id": "c1"}, (60, 61)),
    (IDS | {"jsonrpc.request.id": 8}, (3.5, 4.5)),
])  # fmt: skip
def test_the_call_of_another_one_is_a_loop_of_its_own(attributes, at):
    found = build.loops([*run(**IDS), server(at, **attributes)])

    assert sorted(len(loop["tools"]) for loop in found) == [1, 1]


def test_two_calls_that_servers_alone_report_are_two():
    attributes = OF_SESSION | {"gen_ai.tool.call.arguments": CITY}
    found = build.loops([server((1, 1.5), "b1", **attributes), server((2.5, 2.8), "b2", **attributes)])

    assert sum(len(loop["tools"]) for loop in found) == 2


def test_a_call_has_one_server():
    attributes = OF_SESSION | {"gen_ai.tool.call.arguments": CITY}
    servers = [server(trace=trace, **attributes) for trace in ("b1", "b2", "b3")]
    found = build.loops([*run(0), *run(1), *servers])

    assert [loop["agent"] for loop in found].count("guide") == 2
    assert len(found) == 3


def test_spans_of_other_names_are_calls_of_the_protocol():
    line = build.span(
        1, None, "tools/call get_weather", (0, 1), {"rpc.system": "mcp", "rpc.method": "tools/call"}
    )
    [loop] = build.loops([line])

    assert loop["tools"] == [["span-0000000000000001", False]]
