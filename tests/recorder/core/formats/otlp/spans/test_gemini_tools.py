"""Tools of Gemini CLI: their status and their result are JSON in attributes of their span."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, log, of_type, span

CONVERSATION = {"gen_ai.conversation.id": "s", "gen_ai.agent.name": "gemini-cli"}
CALL = {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "/x"}}}
ERROR = "File not found: /x"


def tool(status, response, **more):
    answer = {"functionResponse": {"id": "c1", "name": "read_file", "response": response}}
    output = {"status": status, "response": {"callId": "c1", "responseParts": [answer], **more}}
    attributes = {
        **CONVERSATION,
        "gen_ai.operation.name": "tool_call",
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call_id": "c1",
        "gen_ai.output.messages": json.dumps(output),
    }
    return span(attributes, name="tool_call", number=2, at=2, scope="gemini-cli", status={"code": 1})


def model_call():
    output = json.dumps([{"role": "model", "parts": [CALL]}])
    attributes = {"gen_ai.operation.name": "llm_call", "gen_ai.request.model": "m"}
    attributes |= {**CONVERSATION, "gen_ai.output.messages": output}
    return span(attributes, name="llm_call", scope="gemini-cli")


def tool_ends(*lines):
    return of_type([model_call(), *lines], "ToolExecutionEnd")


def test_a_tool_with_status_error_failed_although_its_span_did_not():
    [end] = tool_ends(tool("error", {"error": ERROR}, resultDisplay="File not found"))

    assert end["is_error"]
    assert end["result"]["content"][0]["text"] == ERROR


@pytest.mark.parametrize("status", ["error", "success"])
def test_an_error_in_place_of_an_output_is_a_failure(status):
    assert tool(status, {"error": ERROR}).digest.error == ERROR
    assert tool(status, {}).digest.error == ("" if status == "success" else "The tool reported an error.")


def test_the_output_of_a_tool_is_its_result():
    [end] = tool_ends(tool("success", {"output": "line 1\nline 2"}))

    assert not end["is_error"]
    assert end["result"]["content"][0]["text"] == "line 1\nline 2"


def test_a_cancelled_tool_neither_returned_nor_failed():
    items = [model_call(), tool("cancelled", {"error": "[Operation Cancelled] Reason: User cancelled."})]

    assert [event["tool_call_id"] for event in of_type(items, "ToolExecutionStart")] == ["c1"]
    assert of_type(items, "ToolExecutionEnd") == []


def test_a_tool_that_the_user_refused_did_not_begin():
    refused = tool("cancelled", {"error": "[Operation Cancelled] Reason: User did not allow tool call"})

    found = dict(events([model_call(), refused]))
    assert "ToolExecutionStart" not in found
    assert not found["ToolExecutionEnd"]["is_error"]
    assert found["ApprovalResolved"]["decision"] == "denied"


@pytest.mark.parametrize(
    ("response", "failed"),
    [
        ({"error": ERROR}, True),
        ({"output": "text"}, False),
        ({"error": "[Operation Cancelled] Reason: User cancelled."}, False),
    ],
)
def test_results_in_messages_fail_by_their_error(response, failed):
    parts = [{"functionResponse": {"id": "c1", "name": "read_file", "response": response}}]
    messages = [{"role": "model", "parts": [CALL]}, {"role": "user", "parts": parts}]
    attributes = {"gen_ai.operation.name": "llm_call", "gen_ai.input.messages": json.dumps(messages)}

    assert span(attributes, scope="gemini-cli").digest.results == [["c1", failed]]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"success": False, "error": ERROR}, ERROR),
        ({"success": "false"}, "The tool reported an error."),
        ({"success": False, "decision": "reject"}, ""),
        ({"success": True}, ""),
    ],
)
def test_log_records_of_tool_calls_report_failures(fields, error):
    record = log("gemini_cli.tool_call", {"function_name": "read_file", **fields}, scope="gemini-cli")

    assert record.digest.error == error
    assert record.digest.decision == (["denied", "", ""] if "decision" in fields else [])


def test_an_empty_part_of_an_unknown_type_is_no_text():
    parts = [{"type": "text", "content": "Done."}, {"type": "unknown", "text": ""}]
    output = json.dumps([{"role": "system", "parts": parts}])
    attributes = {"gen_ai.operation.name": "llm_call", **CONVERSATION, "gen_ai.output.messages": output}
    [end] = of_type([span(attributes, name="llm_call", scope="gemini-cli")], "TurnEnd")
    assert end["message"]["content"] == [{"type": "text", "text": "Done."}]
