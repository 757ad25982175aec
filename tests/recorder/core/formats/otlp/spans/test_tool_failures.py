"""Which tools failed, by the words of their results and by attributes; names of what a tool span has."""

import pytest

from recorder.core.formats.otlp.spans.content.blocks import tool_failed
from tests.recorder.core.formats.otlp.spans.lines import of_type, span

# As command-line tools, shells and frameworks write them.
FAILURES = [
    "Traceback (most recent call last):\n  File",
    "ValueError: bad",
    "error: division by zero",
    "Error: no such file",
    "\n  openai.APIConnectionError: down",
    "java.lang.NullPointerException: null",
    "Uncaught TypeError: x is not a function",
    "Exit code 1\nls: no such file",  # Claude Code
    "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nbad",  # Codex
    "Chunk ID: 6b559d\nWall time: 0.0000 seconds\nProcess exited with code 3\nOutput:\nbad\n",
    "<untrusted_context>\nOutput: x\nExit Code: 2\nProcess Group PGID: 1\n</untrusted_context>",  # Gemini CLI
    "Command: ls /x\nOutput: (empty)\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 7",
    "bad\n[exit code: 2]",
    "Process exited with code -1\nOutput:\n",
    '{"error": "not found"}',
    '{"data": null, "error": {"code": 3}}',
    '{"status": "error", "message": "down"}',
    '{"success": false}',
    "{'error': 'not found'}",
]
SUCCESSES = [
    "",
    "# Manual\nThe program returns exit code 1 when the file is missing.",
    "Exit code 1 means that the file is missing.\nExit code 2 means more.",
    "Error handling in Go: a guide",
    "Errors: a history",
    "Exceptions in Python",
    "exception handling",
    "Traceback: how to read one",
    "The log has ValueError: bad",
    "Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 3\nmore",
    "Exit code: 0\nOutput:\nexit code: 5",
    "<untrusted_context>\nOutput: a\nExit Code: 2\nb\nProcess Group PGID: 12462\n</untrusted_context>",
    "Output: a\nExit Code: 0\nProcess Group PGID: 12462",
    "on one line\nexit code 1\nbetween two others",
    '{"error": null, "status": "ok"}',
    '{"error": "", "success": true}',
    '{"passed": 9, "error": 3}',
    '{"jobs": [{"status": "error"}]}',
    '[{"error": "x"}]',
    '{"error": {"code": 0, "message": ""}}',
    '{"success": true, "error": "1 warning"}',
    '{"error": "No error"}',
]


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_is_found(text):
    assert tool_failed(text)


@pytest.mark.parametrize("text", SUCCESSES)
def test_words_in_the_output_of_a_tool_are_no_failure(text):
    assert not tool_failed(text)


@pytest.mark.parametrize(
    "text", ["\n" * 100_000, "Error: x\n" * 20_000 + "y", "Exit Code: 1\n" * 20_000 + "y"]
)
def test_long_results_are_read_in_linear_time(text):
    tool_failed(text[1:])


def test_a_tool_span_with_such_words_in_its_result_is_no_error():
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call.result": SUCCESSES[1],
    }
    assert span(tool, name="execute_tool read_file").digest.error == ""
    assert span(tool | {"gen_ai.tool.call.result": FAILURES[1]}).digest.error == "ValueError: bad"


TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "w"}
STATED = [
    ({"gen_ai.tool.call.status": "failed"}, "The tool reported an error."),
    ({"tool.status": "ERROR"}, "The tool reported an error."),
    ({"tool.is_error": True}, "The tool reported an error."),
    ({"gen_ai.tool.call.is_error": "true", "gen_ai.tool.error": "boom"}, "boom"),
    ({"gen_ai.tool.error": "boom"}, "boom"),
    ({"error.message": "boom"}, "boom"),
    ({"error.type": "E", "error.message": "boom"}, "boom"),
    ({"exception.type": "E", "exception.message": "boom"}, "boom"),
    ({"exception.type": "E"}, "E"),
    ({"error": True}, "failed"),
    ({"otel.status_code": "ERROR"}, "failed"),
]


@pytest.mark.parametrize(("attributes", "error"), STATED)
def test_a_failure_is_read_under_each_name(attributes, error):
    assert span(TOOL | attributes).digest.error == error


@pytest.mark.parametrize("attributes", [
    {"tool.status": "success"}, {"tool.is_error": False}, {"error": False}, {"error": "false"},
    {"otel.status_code": "OK"}, {"gen_ai.tool.error": ""},
])  # fmt: skip
def test_other_values_of_these_are_no_failure(attributes):
    assert span(TOOL | attributes).digest.error == ""


@pytest.mark.parametrize("attributes", [each for each, _ in STATED[4:]])
def test_a_status_of_success_counts_before_attributes(attributes):
    assert span(TOOL | attributes, status={"code": 1}).digest.error == ""


@pytest.mark.parametrize("name", ["tool.call_id", "tool_call_id", "gen_ai.tool_call.id", "tool.id"])
def test_the_id_of_a_call_is_read_under_each_name(name):
    assert span(TOOL | {name: "c1"}).digest.call == "c1"


@pytest.mark.parametrize("name", ["mcp.tool.name", "gen_ai.tool_name", "tool_call.function.name"])
def test_the_name_of_a_tool_is_read_under_each_name(name):
    assert span({"gen_ai.operation.name": "execute_tool", name: "w"}, name="run").digest.name == "w"


@pytest.mark.parametrize(("arguments", "result"), [
    ("gen_ai.tool.arguments", "gen_ai.tool.result"),
    ("gen_ai.tool.input", "gen_ai.tool.output"),
    ("tool.input", "tool.output"),
    ("tool.arguments", "tool.result"),
    ("ai.toolCall.input", "ai.toolCall.output"),
    ("mcp.tool.arguments", "mcp.tool.result"),
])  # fmt: skip
def test_arguments_and_result_of_a_tool_are_read_under_each_name(arguments, result):
    items = [span(TOOL | {arguments: '{"city": "Oslo"}', result: "rain"})]
    [begin], [end] = of_type(items, "ToolExecutionStart"), of_type(items, "ToolExecutionEnd")
    assert begin["args"] == {"city": "Oslo"}
    assert end["result"]["content"] == [{"type": "text", "text": "rain"}]


@pytest.mark.parametrize(("code", "has_failed"), [(None, True), (1, False)])
def test_a_result_with_an_error_counts_unless_the_status_says_success(code, has_failed):
    status = {} if code is None else {"status": {"code": code}}
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"}
    tool = span(attributes | {"gen_ai.tool.call.result": '{"error": "not found"}'}, **status)

    [end] = of_type([tool], "ToolExecutionEnd")
    assert end["is_error"] is has_failed


@pytest.mark.parametrize("result", [
    "meta=None content=[TextContent(type='text', text='Not found', annotations=None)] isError=True",
    "CallToolResult(meta=None, content=[TextContent(type='text', text='Not found')], isError=True)",
    "content='Not found' name='read' tool_call_id='1' status='error'",
])  # fmt: skip
def test_a_result_that_python_printed_is_read(result):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"}
    [end] = of_type([span(attributes | {"gen_ai.tool.call.result": result})], "ToolExecutionEnd")

    assert (end["is_error"], end["result"]["content"][0]["text"]) == (True, "Not found")
