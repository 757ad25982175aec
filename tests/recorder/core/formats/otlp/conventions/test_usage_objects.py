"""Usage as an object: an attribute in whichever form, names with one beginning, details, and responses."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
OPENAI = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
LANGCHAIN = {
    "input_tokens": 100,
    "output_tokens": 20,
    "input_token_details": {"cache_read": 40, "cache_creation": 0},
    "output_token_details": {"reasoning": 5},
}
FORMS = [
    OPENAI,
    LANGCHAIN,
    {"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 40},
     "output_tokens_details": {"reasoning_tokens": 5}},
    {"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "totalTokenCount": 120,
     "cachedContentTokenCount": 40},
    {"prompt_token_count": 100, "candidates_token_count": 15, "thoughts_token_count": 5,
     "total_token_count": 120, "cached_content_token_count": 40},
    {"inputTokens": {"total": 100, "noCache": 60, "cacheRead": 40}, "outputTokens": {"total": 20,
     "text": 15, "reasoning": 5}},
    {"inputTokens": 100, "inputTokenDetails": {"noCacheTokens": 60, "cacheReadTokens": 40},
     "outputTokens": 20, "outputTokenDetails": {"textTokens": 15, "reasoningTokens": 5}},
    {"request_tokens": 100, "response_tokens": 20, "details": {"cached_tokens": 40, "reasoning_tokens": 5}},
    {"prompt_tokens": "100", "completion_tokens": "20.0", "prompt_cache_hit_tokens": 40,
     "prompt_cache_miss_tokens": 60, "completion_reasoning_tokens": 5},
]  # fmt: skip
NAMES = ["gen_ai.usage", "llm.usage", "usage", "usage_metadata", "gen_ai.response.usage", "ai.response.usage",
         "llm.token_count", "llm.usage_metadata", "response_metadata.token_usage", "lmnr.usage"]  # fmt: skip


def figures(attributes):
    [end] = of_type([span(CALL | attributes)], "TurnEnd")
    return tuple(end["usage"][name] for name in ("input", "cache_read", "output", "reasoning"))


def flat(name, value):
    if not isinstance(value, dict):
        return {name: value}
    return {key: count for part in value for key, count in flat(f"{name}.{part}", value[part]).items()}


@pytest.mark.parametrize("usage", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_an_object_of_usage_is_read_in_every_form_under_every_name(name, usage):
    texts = {f"{name}.{key}": json.dumps(value) if isinstance(value, dict) else value
             for key, value in usage.items()}  # fmt: skip

    assert figures({name: usage}) == figures({name: json.dumps(usage)}) == (60, 40, 20, 5)
    assert figures(flat(name, usage)) == figures(texts) == (60, 40, 20, 5)


ANTHROPIC = {
    "input_tokens": 50,
    "output_tokens": 20,
    "cache_read_input_tokens": 40,
    "cache_creation_input_tokens": 10,
    "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 6},
    "server_tool_use": {"web_search_requests": 2},
}


@pytest.mark.parametrize("attributes", [
    {"gen_ai.usage": json.dumps(ANTHROPIC)}, {"llm.usage": ANTHROPIC}, flat("anthropic.usage", ANTHROPIC),
])  # fmt: skip
def test_cached_tokens_that_anthropic_counts_apart_are_read_with_their_lifetime(attributes):
    [end] = of_type([span(CALL | attributes)], "TurnEnd")
    names = ("input", "cache_read", "cache_write", "cache_write_1h", "output")
    assert tuple(end["usage"][name] for name in names) == (50, 40, 10, 6, 20)


@pytest.mark.parametrize(("usage", "expected"), [
    ({"billed_units": {"input_tokens": 90, "output_tokens": 19},
      "tokens": {"input_tokens": 100, "output_tokens": 20}}, (100, 0, 20, 0)),
    ({"prompt_eval_count": 100, "eval_count": 20, "eval_duration": 7}, (100, 0, 20, 0)),
])  # fmt: skip
def test_the_counts_of_cohere_and_ollama_are_read(usage, expected):
    assert figures({"llm.response.usage": json.dumps(usage)}) == expected


ANSWER = {"content": "Rain.", "type": "ai", "usage_metadata": LANGCHAIN}
MESSAGE = {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": ANSWER}
RESPONSES = [
    {"usage": OPENAI, "choices": [{"message": {"role": "assistant", "content": "Rain."}}]},
    {"response": {"usage": OPENAI}},
    {"message": {"role": "assistant", "content": "Rain.", "usage": OPENAI}},
    {"generations": [[{"text": "Rain.", "message": MESSAGE}]]},
    {"llm_output": {"token_usage": OPENAI}},
    {"message": {"role": "assistant"}, "additional_kwargs": OPENAI},
    [{"role": "assistant", "content": "Rain.", "response_metadata": {"token_usage": OPENAI}}],
]


@pytest.mark.parametrize("response", RESPONSES)
@pytest.mark.parametrize("name", ["output.value", "gen_ai.completion", "traceloop.entity.output",
                                  "gen_ai.output.messages", "response"])  # fmt: skip
def test_the_usage_in_a_response_is_read_where_a_span_reports_no_other(name, response):
    assert figures({name: json.dumps(response)}) == figures({name: response}) == (60, 40, 20, 5)
    own = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3}
    assert figures({name: json.dumps(response)} | own) == (7, 0, 3, 0)


@pytest.mark.parametrize("attributes", [
    {"output.value": json.dumps({"messages": [ANSWER, ANSWER]})},  # of several calls
    {"session.usage": json.dumps(OPENAI)},
    {"gen_ai.usage": "{"},
    {"gen_ai.usage": json.dumps({"input_tokens": "many", "output_tokens": None})},
    {"gen_ai.usage": json.dumps([OPENAI])},
    {"memory.usage": json.dumps({"input": 5, "output": 5})},
    {"gen_ai.request.max_tokens": 100},
    {"usage" + "." * 200 + "input_tokens": 5},
])  # fmt: skip
def test_what_is_no_usage_of_the_call_leaves_it_unknown(attributes):
    [end] = of_type([span(CALL | attributes)], "TurnEnd")
    assert end["has_usage"] is False


@pytest.mark.parametrize("name", ["gen_ai.usage", "llm.usage", "usage", "usage_metadata", "usageMetadata"])
def test_a_model_and_an_object_of_usage_make_a_call(name):
    kinds = [kind for kind, _ in events([span({"gen_ai.request.model": "m", name: json.dumps(OPENAI)})])]
    assert "TurnEnd" in kinds


def test_a_cost_within_the_usage_is_the_cost_of_the_call():
    [end] = of_type([span(CALL | {"llm.usage": json.dumps(OPENAI | {"cost": 0.0123})})], "TurnEnd")
    assert end["cost"] == "0.012300000"
