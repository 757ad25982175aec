"""Model calls that an attribute reports as failed, while the status of the span is unset."""

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

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
