"""Model calls that an attribute reports as failed, while the status of the span is unset."""

import pytest

from tests.recorder.core.formats.otlp.spans.lines import log, of_type, span

CALL = {"span.type": "llm_request", "session.id": "s", "model": "claude-sonnet-4-5"}
SCOPE = "com.anthropic.claude_code.tracing"


def error_of(attributes):
    item = span(CALL | attributes, name="claude_code.llm_request", scope=SCOPE, status={"code": 0})
    [end] = of_type([item], "TurnEnd")
    return end["message"].get("error_message")


@pytest.mark.parametrize("success", [False, "false", "False"])
def test_a_call_without_success_is_an_error_of_its_turn(success):
    assert error_of({"success": success, "error": "bad request"}) == "bad request"
    assert error_of({"success": success}) == "failed"


@pytest.mark.parametrize("success", [True, "true"])
def test_a_call_with_success_is_no_error(success):
    assert error_of({"success": success}) is None


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
EXCEPTION = {"exception.type": "RateLimitError", "exception.message": "slow down"}
ANSWERED = '[{"role": "assistant", "parts": [{"type": "text", "content": "x"}]}]'
RECORDS = ["gen_ai.client.operation.exception", "exception"]


@pytest.mark.parametrize("event", RECORDS)
def test_an_exception_in_a_log_record_is_an_error_of_its_span(event):
    items = [span(CHAT, number=1), span(CHAT, number=2, at=2), log(event, EXCEPTION, number=2, at=2.5)]
    for order in (items, items[::-1]):
        first, second = of_type(order, "TurnEnd")
        assert "error_message" not in first["message"]
        assert second["message"]["error_message"] == "slow down"
    assert of_type([*items[:2], log(event, {}, number=2)], "TurnEnd")[1]["message"]["error_message"]


@pytest.mark.parametrize("event", RECORDS)
def test_an_exception_in_a_log_record_is_an_error_of_a_tool_and_an_agent(event):
    agent = span({"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent a", number=1, to=9)
    tool = span({"gen_ai.operation.name": "execute_tool"}, name="execute_tool t", number=2, parent=1)
    logs = [log(event, EXCEPTION, number=number) for number in (1, 2)]
    [end] = of_type([agent, tool, logs[1]], "ToolExecutionEnd")
    assert (end["is_error"], end["result"]["content"][0]["text"]) == (True, "slow down")
    [end] = of_type([agent, tool, logs[0]], "AgentEnd")
    assert (end["outcome"], end["error"]) == ("failed", "slow down")


@pytest.mark.parametrize(
    ("attributes", "more"),
    [
        ({}, {"status": {"code": 1}}),
        ({"gen_ai.response.finish_reasons": ["stop"]}, {}),
        ({"gen_ai.output.messages": ANSWERED}, {}),
    ],
)
def test_a_call_that_was_answered_after_an_exception_has_not_failed(attributes, more):
    items = [span(CHAT | attributes, **more), log(RECORDS[0], EXCEPTION)]
    [end] = of_type(items, "TurnEnd")
    assert "error_message" not in end["message"]


def test_a_call_that_ended_with_an_error_has_failed_unless_its_status_says_success():
    ended = CHAT | {"gen_ai.response.finish_reasons": ["error"]}
    [end] = of_type([span(ended)], "TurnEnd")
    assert (end["message"]["stopReason"], end["message"]["error_message"]) == ("error", "failed")
    [end] = of_type([span(ended, status={"code": 1})], "TurnEnd")
    assert "error_message" not in end["message"]


@pytest.mark.parametrize("name", ["http.response.status_code", "http.status_code"])
def test_a_response_of_http_that_is_an_error_is_a_failed_call_unless_its_status_says_success(name):
    for code in (429, "500"):
        [end] = of_type([span(CHAT | {name: code})], "TurnEnd")
        assert end["message"]["error_message"] == str(code)
    [end] = of_type([span(CHAT | {name: 429, "error.type": "RateLimitError"})], "TurnEnd")
    assert end["message"]["error_message"] == "RateLimitError"
    for item in (span(CHAT | {name: 429}, status={"code": 1}), span(CHAT | {name: 200})):
        [end] = of_type([item], "TurnEnd")
        assert "error_message" not in end["message"]


def test_other_log_records_with_an_exception_are_no_error():
    [end] = of_type([span(CHAT), log("app.warning", EXCEPTION)], "TurnEnd")
    assert "error_message" not in end["message"]


def test_a_level_of_langfuse_is_an_error_unless_the_status_says_success():
    failed = {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "boom"}
    kinds = [({"langfuse.observation.type": kind} | failed) for kind in ("tool", "generation", "agent")]
    tool, call, agent = (span(kind, number=n + 1, at=n) for n, kind in enumerate(kinds))
    [end] = of_type([tool], "ToolExecutionEnd")
    assert (end["is_error"], end["result"]["content"][0]["text"]) == (True, "boom")
    assert of_type([call], "TurnEnd")[0]["message"]["error_message"] == "boom"
    assert of_type([agent], "AgentEnd")[0]["error"] == "boom"
    for more in ({"status": {"code": 1}}, {}):
        level = "ERROR" if more else "WARNING"
        [end] = of_type([span(kinds[0] | {"langfuse.observation.level": level}, **more)], "ToolExecutionEnd")
        assert not end["is_error"]


@pytest.mark.parametrize("event", RECORDS)
def test_an_exception_in_a_span_event_is_an_error_of_its_span(event):
    [end] = of_type([span(CHAT, events=[(event, EXCEPTION)])], "TurnEnd")
    assert end["message"]["error_message"] == "slow down"


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR", "ERROR", "Error"])
def test_a_status_is_an_error_however_its_code_is_written(code):
    [end] = of_type([span(CHAT, status={"code": code, "message": "slow down"})], "TurnEnd")
    assert end["message"]["error_message"] == "slow down"


@pytest.mark.parametrize("code", [1, "1", "STATUS_CODE_OK", "OK", "Ok"])
def test_a_status_is_success_however_its_code_is_written(code):
    [end] = of_type([span(CHAT | {"error.type": "retried"}, status={"code": code})], "TurnEnd")
    assert "error_message" not in end["message"]


@pytest.mark.parametrize("above", [True, False])
def test_a_tool_of_a_server_without_an_operation_is_the_call_above_it_or_one_of_its_own(above):
    agent = span({"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent a", number=1, to=9)
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "c"}
    outer = span(own, name="execute_tool t", number=2, parent=1, at=1, to=4)
    server = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "t"}
    client = span(server, name="tools/call t", number=3, parent=2 if above else 1, at=2, to=3)
    status = {"code": 2, "message": "no city"}
    inner = span(server, name="tools/call t", number=4, parent=3, at=2.1, to=2.9, scope="y", status=status)

    items = [agent, *([outer] if above else []), client, inner]
    for order in (items, items[::-1]):
        [end] = of_type(order, "ToolExecutionEnd")
        assert (end["tool_name"], end["is_error"]) == ("t", True)
        assert end["result"]["content"][0]["text"] == "no city"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("CancelledError", "cancelled"),
        ("asyncio.exceptions.CancelledError: ", "cancelled"),
        ("AbortError: This operation was aborted", "cancelled"),
        ("context canceled", "cancelled"),
        ("rpc error: code = Canceled desc = context canceled", "cancelled"),
        ("The user aborted a request.", "cancelled"),
        ("Request was aborted.", "cancelled"),
        ("The operation was cancelled.", "cancelled"),
        ("the order was cancelled by its customer", "failed"),
        ("NotCancelledError", "failed"),
    ],
)
def test_a_run_that_its_program_cancelled_has_not_failed(error, outcome):
    about = {"gen_ai.operation.name": "invoke_agent"}
    agent = span(about, name="invoke_agent a", status={"code": 2, "message": error})
    [end] = of_type([agent], "AgentEnd")
    assert (end["outcome"], end["error"]) == (outcome, error)
