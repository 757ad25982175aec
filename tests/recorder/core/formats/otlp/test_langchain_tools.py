"""LangChain's tool spans have no call id: it is in the node around them, or in their result's message."""

import json

import pytest

from tests.recorder.core.formats.otlp.build import OPENINFERENCE, llm, loops, result, span

CHAIN = {"openinference.span.kind": "CHAIN"}
SCOPE = f"{OPENINFERENCE}langchain"


def run(*tools):
    """Return the lines of a run whose model asked for `f` twice, as c1 and c2."""
    calls = [("c1", "f", '{"q":"A"}'), ("c2", "f", '{"q":"B"}')]
    messages = [{"role": "assistant", "content": "x"}, result("c1"), result("c2", "Error: boom")]
    return [
        span(1, None, "agent", (0, 6), CHAIN, scope=SCOPE),
        span(2, 1, "ChatOpenAI", (1, 2), llm(calls), scope=SCOPE),
        *tools,
        span(9, 1, "ChatOpenAI", (4, 5), llm([], messages), scope=SCOPE),
    ]


def node(number, *call_ids, at=(2.1, 3.2)):
    calls = [{"name": "f", "args": {"q": "A"}, "id": each, "type": "tool_call"} for each in call_ids]
    return span(number, 1, "tools", at, CHAIN | {"input.value": json.dumps(calls)}, scope=SCOPE)


def tool(number, parent, at, output=None, **about):
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": "A"}
    attributes |= {"output.value": json.dumps(output)} if output else {}
    return span(number, parent, "f", at, attributes, scope=SCOPE, **about)


def tools(*lines):
    (loop,) = loops(run(*lines))
    return loop["tools"]


def test_tools_that_start_in_another_order_keep_their_calls():
    first = [node(3, "c1"), tool(4, 3, (2.5, 3))]
    second = [node(5, "c2"), tool(6, 5, (2.2, 3.2), error="boom")]
    assert tools(*first, *second) == [["c1", False], ["c2", True]]


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_result_has_the_id_of_its_call(wrapped):
    message = {"content": "rain", "tool_call_id": "c1", "status": "success"}
    first = tool(4, 1, (2.5, 3), {"type": "tool", "data": message} if wrapped else message)
    assert tools(first, tool(6, 1, (2.2, 3.2), error="boom")) == [["c1", False], ["c2", True]]


def test_a_node_with_several_calls_names_none():
    lines = [node(3, "c1", "c2"), tool(4, 3, (2.2, 3)), tool(6, 3, (2.5, 3.2), error="boom")]
    assert tools(*lines) == [["c1", False], ["c2", True]]


def test_a_chain_between_the_node_and_the_tool_changes_nothing():
    sequence = span(7, 5, "RunnableSequence", (2.1, 3.2), CHAIN, scope=SCOPE)
    lines = [
        node(3, "c1"),
        tool(4, 3, (2.5, 3)),
        node(5, "c2"),
        sequence,
        tool(6, 7, (2.2, 3.2), error="boom"),
    ]
    assert tools(*lines) == [["c1", False], ["c2", True]]
