"""Spans that have a whole request and a whole response under names of their vendor."""

import json

from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span

REQUEST = {
    "model": "gemini-2.5-flash",
    "contents": [{"role": "user", "parts": [{"text": "Weather?"}]}],
    "config": {"system_instruction": "Be brief."},
}
RESPONSE = {
    "content": {"role": "model", "parts": [{"text": "Rain."}]},
    "usage_metadata": {"prompt_token_count": 100, "candidates_token_count": 20, "total_token_count": 120},
}


def texts(item):
    return [each["message"]["content"][0]["text"] for each in of_type([item], "MessageEnd")]


def test_request_and_response_of_google_adk_are_the_messages_and_the_usage_of_the_call():
    item = span({
        "gen_ai.request.model": "gemini-2.5-flash",
        "gen_ai.operation.name": "generate_content",
        "gcp.vertex.agent.llm_request": json.dumps(REQUEST),
        "gcp.vertex.agent.llm_response": json.dumps(RESPONSE),
    })  # fmt: skip

    assert texts(item) == ["Weather?", "Rain."]
    [request] = of_type([item], "TurnRequest")
    assert request["payload"]["system_prompt"] == "Be brief."
    [end] = of_type([item], "TurnEnd")
    assert (end["usage"]["input"], end["usage"]["output"]) == (100, 20)


def test_model_and_provider_of_mlflow_are_json():
    item = span({
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.llm.model": '"gpt-5"',
        "mlflow.llm.provider": '"openai"',
        "mlflow.spanInputs": json.dumps({"messages": [{"role": "user", "content": "Weather?"}]}),
    })  # fmt: skip

    [start] = of_type([item], "AgentStart")
    assert (start["config_snapshot"]["model"], start["config_snapshot"]["provider"]) == ("gpt-5", "openai")


def test_an_embedding_of_the_ai_sdk_is_no_model_call():
    about = {"ai.operationId": "ai.embed.doEmbed", "ai.model.id": "e", "ai.usage.tokens": 7}
    assert events([span(about, name="ai.embed.doEmbed", scope="ai")]) == []
