"""Results of tools that are messages with a status of their own, as LangChain's ToolMessage."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CONTENT = "no such city"
MESSAGE = {"content": CONTENT, "type": "tool", "tool_call_id": "c1"}


def constructor(message):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"], "kwargs": message}


FORMS = {
    "data": lambda message: {"type": "tool", "data": message},
    "kwargs": constructor,
    "itself": lambda message: message,
    "traceloop": lambda message: {"output": constructor(message), "kwargs": {"name": "get_weather"}},
}


def tool(output, status=None):
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "get_weather", "output.value": output}
    scope = "openinference.instrumentation.langchain"
    return span(attributes, name="get_weather", scope=scope, status=status or {"code": 1})


@pytest.mark.parametrize("form", FORMS)
def test_a_message_with_status_error_is_a_failure(form):
    [end] = of_type([tool(json.dumps(FORMS[form](MESSAGE | {"status": "error"})))], "ToolExecutionEnd")

    assert end["is_error"]
    assert end["result"]["content"][0]["text"] == CONTENT


@pytest.mark.parametrize("form", FORMS)
def test_a_message_with_status_success_is_none(form):
    [end] = of_type([tool(json.dumps(FORMS[form](MESSAGE | {"status": "success"})))], "ToolExecutionEnd")

    assert not end["is_error"]
    assert end["result"]["content"][0]["text"] == CONTENT


@pytest.mark.parametrize(
    "output",
    ['{"status": "error", "deployments": 3}', '{"data": {"status": "error"}}', "[]", "{", '"status"'],
)
def test_a_status_in_what_a_tool_returned_is_none_of_a_tool_that_says_success(output):
    assert tool(output).digest.error == ""


def test_results_that_say_whether_they_are_errors():
    failed = {"content": [{"type": "text", "text": CONTENT}], "isError": True}

    assert tool(json.dumps(failed)).digest.error == CONTENT
    assert tool(json.dumps(failed | {"isError": False})).digest.error == ""


def test_a_message_with_status_error_in_the_input_is_a_failure():
    messages = [{"role": "assistant", "content": "x"}, MESSAGE | {"role": "tool", "status": "error"}]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}

    assert span(attributes).digest.results == [["c1", True]]
