"""Usage and cost of a call under all names; input below its cached tokens leaves these out, which is said."""

import json

import pytest

from recorder.core.formats.otlp.unit import Unit
from tests.recorder.core.formats.otlp.spans.lines import events, span

CACHED = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.prompt_tokens": 10,
    "gen_ai.usage.completion_tokens": 3,
    "gen_ai.usage.cache_read_input_tokens": 100,
    "gen_ai.usage.cache_creation_input_tokens": 5,
}
CLAUDE = {"span.type": "llm_request", "input_tokens": 10, "output_tokens": 3, "cache_read_tokens": 100}


def notices(*lines):
    return [event for kind, event in events(lines) if kind == "Notice"]


def test_input_below_its_cached_parts_is_read_as_without_them_and_flagged():
    found = events([span(CACHED)])

    [end] = [event for kind, event in found if kind == "TurnEnd"]
    assert {name: end["usage"][name] for name in ("input", "cache_read", "cache_write")} == {
        "input": 10,
        "cache_read": 100,
        "cache_write": 5,
    }
    [notice] = [event for kind, event in found if kind == "Notice"]
    assert (notice["kind"], notice["code"]) == ("irregular", "input_without_cache")
    assert [kind for kind, _ in found][-3:] == ["Notice", "TurnEnd", "AgentEnd"]


def test_a_loop_is_flagged_once():
    root = span({"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent a", number=9, to=9)
    calls = [span(CACHED, number=number, parent=9, at=number) for number in (1, 2, 3)]

    assert len(notices(root, *calls)) == 1


def test_a_loop_whose_tool_comes_later_is_flagged_once():
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}
    root = span({"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent a", number=9, to=9)
    call = span(CACHED, number=1, parent=9)
    items, unit, found = [root, call, span(tool, number=2, parent=9, at=2)], Unit(), []
    lines = {item.digest.line: item for item in items}
    for item in items:
        unit.add(item.digest)
        found = [event["type"] for event in unit.new_events(lambda digest: lines[digest.line])]
        assert found.count("Notice") == (item is call)

    assert found[0] == "LoopReopened"


@pytest.mark.parametrize(
    "item",
    [
        span(CACHED | {"gen_ai.usage.prompt_tokens": 105}),
        span(CLAUDE, name="claude_code.llm_request", scope="com.anthropic.claude_code.tracing"),
        span({"gen_ai.operation.name": "chat"}),
    ],
)
def test_other_calls_are_not_flagged(item):
    assert notices(item) == []


CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
FIGURES = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}


def turn_end(attributes):
    [end] = [event for kind, event in events([span(CALL | attributes)]) if kind == "TurnEnd"]
    return end


@pytest.mark.parametrize(("name", "part"), [
    ("gen_ai.usage.input_cached_tokens", "cache_read"),
    ("gen_ai.usage.prompt_tokens_details.cached", "cache_read"),
    ("gen_ai.usage.prompt_cache_hit_tokens", "cache_read"),
    ("llm.usage.cache_read_tokens", "cache_read"),
    ("gen_ai.usage.cache_create_input_tokens", "cache_write"),
    ("gen_ai.usage.cache_write", "cache_write"),
    ("llm.usage.cache_creation_tokens", "cache_write"),
    ("gen_ai.usage.output_reasoning_tokens", "reasoning"),
    ("ai.usage.inputTokens.cacheRead", "cache_read"),
    ("usage.cache_read_input_tokens", "cache_read"),
    ("anthropic.usage.cache_creation_input_tokens", "cache_write"),
    ("gen_ai.openai.usage.cached_tokens", "cache_read"),
    ("gen_ai.response.cached_tokens", "cache_read"),
    ("gen_ai.response.reasoning_tokens", "reasoning"),
    ("gen_ai.usage.thinking_tokens", "reasoning"),
])  # fmt: skip
def test_a_part_of_the_usage_is_known_by_the_words_of_its_name(name, part):
    usage = turn_end(FIGURES | {name: 10})["usage"]

    assert usage[part] == 10
    assert usage["input"] == 100 - (10 if part != "reasoning" else 0)


@pytest.mark.parametrize("name", [
    "gen_ai.usage.text.cache_read.input_tokens",
    "gen_ai.usage.cache_creation.ephemeral_5m_input_tokens",
    "gen_ai.usage.cache_hit_rate",
    "ai.usage.inputTokenDetails.noCacheTokens",
    "gen_ai.usage.uncached_input_tokens",
    "gen_ai.usage.reasoning_cost",
    "gen_ai.response.cached",
    "gen_ai.usage." + "cache" * 30,
])  # fmt: skip
def test_other_figures_are_no_part_of_the_usage(name):
    usage = turn_end(FIGURES | {name: 10})["usage"]
    assert (usage["input"], usage["cache_read"], usage["cache_write"], usage["reasoning"]) == (100, 0, 0, 0)


@pytest.mark.parametrize("attributes", [
    {"gen_ai.response.prompt_tokens": 100, "gen_ai.response.completion_tokens": 20},
    {"gen_ai.usage.input": 100, "gen_ai.usage.output": 20},
    {"gen_ai.usage.inputTokens": 100, "gen_ai.usage.outputTokens": 20},
    {"llm.usage.promptTokens": 100, "llm.usage.completionTokens": 20},
    {"gen_ai.response.usage.prompt_tokens": 100, "gen_ai.response.usage.completion_tokens": 20},
    {"gen_ai.usage.tokens.input": 100, "gen_ai.usage.tokens.output": 20},
    {"gen_ai.prompt_tokens": 100, "gen_ai.completion_tokens": 20},
    {"llm.input_tokens": 100, "llm.output_tokens": 20},
    {"llm.token_count.input": 100, "llm.token_count.output": 20},
    {"ai.usage.inputTokens.total": 100, "ai.usage.outputTokens.total": 20},
    {"ai.usage": json.dumps({"inputTokens": 100, "outputTokens": 20})},
    {"llm.token_usage": json.dumps({"prompt_tokens": 100, "completion_tokens": 20})},
    {"mlflow.chat.tokenUsage": json.dumps({"input_tokens": 100, "output_tokens": 20})},
    {"langsmith.usage_metadata": json.dumps({"input_tokens": 100, "output_tokens": 20})},
    {"llm.usage": json.dumps({"prompt_tokens": 100, "completion_tokens": 20})},
])  # fmt: skip
def test_input_and_output_are_read_under_other_names(attributes):
    usage = turn_end(attributes)["usage"]
    assert (usage["input"], usage["output"]) == (100, 20)


READ, WRITTEN = "cache_read_input_tokens", "cache_creation_input_tokens"


@pytest.mark.parametrize(("usage", "expected"), [
    ({"input_tokens": 50, "output_tokens": 20, READ: 40, WRITTEN: 10}, (50, 40, 10)),
    ({"inputTokens": 50, "outputTokens": 20, "cacheReadInputTokens": 40}, (50, 40, 0)),
    ({"inputTokens": 50, "outputTokens": 20, "cacheWriteInputTokens": 10, "totalTokens": 80}, (50, 0, 10)),
    ({"input_tokens": 50, "output_tokens": 20, READ: 40, "total_tokens": 70}, (10, 40, 0)),
    ({"prompt_tokens": 50, "completion_tokens": 20, READ: 40}, (10, 40, 0)),
    ({"input_tokens": 50, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 40}}, (10, 40, 0)),
])  # fmt: skip
def test_the_usage_of_a_provider_that_counts_cached_tokens_apart_is_read_so(usage, expected):
    found = turn_end({"gen_ai.usage": json.dumps(usage)})["usage"]
    assert (found["input"], found["cache_read"], found["cache_write"]) == expected
    assert notices(span(CALL | {"gen_ai.usage": json.dumps(usage)})) == []


def test_langsmith_writes_cached_tokens_into_the_details():
    found = {"input_tokens": 100, "output_tokens": 20, "input_token_details": {"cache_read": 40}}
    usage = turn_end({"langsmith.usage_metadata": json.dumps(found)})["usage"]
    assert (usage["input"], usage["cache_read"]) == (60, 40)


@pytest.mark.parametrize("attributes", [
    {"gen_ai.usage.cost": "$0.0123"},
    {"gen_ai.cost.usd": 0.0123},
    {"gen_ai.response.cost": 0.0123},
    {"gen_ai.usage.total_cost_usd": 0.0123},
    {"litellm.response_cost": 0.0123},
    {"hidden_params": json.dumps({"response_cost": 0.0123})},
    {"mlflow.llm.cost": json.dumps({"input_cost": 0.01, "total_cost": 0.0123})},
    {"langfuse.observation.cost_details": json.dumps({"input": 0.01, "output": 0.0023})},
    {"gen_ai.cost.input_cost": 0.01, "gen_ai.cost.output_cost": 0.0023},
    {"gen_ai.cost.total_cost_usd": 0.0123},
    {"braintrust.metrics": json.dumps({"prompt_tokens": 1, "estimated_cost": 0.0123})},
    {"ai.response.providerMetadata": json.dumps({"openrouter": {"usage": {"cost": 0.0123}}})},
    {"ai.response.providerMetadata": json.dumps({"openai": {}, "gateway": {"cost": "0.0123"}})},
    {"ai.response.providerMetadata": {"gateway": {"cost": "0.0123"}}},
])  # fmt: skip
def test_a_reported_cost_is_read_under_each_name(attributes):
    assert turn_end(FIGURES | attributes)["cost"] == "0.012300000"


@pytest.mark.parametrize("metadata", [
    "{", "[]", "null", "7", json.dumps({"gateway": 7}), json.dumps({"gateway": {"cost": None}}),
    json.dumps({"gateway": {"usage": [{"cost": 1}]}}), json.dumps({"gateway": {"cost": "cheap"}}),
    json.dumps({"gateway": {"cost": -1}}),
])  # fmt: skip
def test_metadata_of_a_provider_without_a_cost_reports_none(metadata):
    assert turn_end(FIGURES | {"ai.response.providerMetadata": metadata}).get("cost") is None


def test_a_total_under_a_name_of_its_own_comes_before_that_of_a_provider():
    both = {"gen_ai.usage.cost": 0.5, "ai.response.providerMetadata": json.dumps({"gateway": {"cost": "1"}})}
    assert turn_end(FIGURES | both)["cost"] == "0.500000000"


@pytest.mark.parametrize("name", ["anthropic.usage", "gen_ai.usage"])
def test_tokens_that_are_cached_for_an_hour_are_a_part_of_those_written(name):
    written = {f"{name}.cache_creation.ephemeral_1h_input_tokens": 10}
    usage = turn_end(FIGURES | written | {"gen_ai.usage.cache_creation.input_tokens": 30})["usage"]
    assert (usage["input"], usage["cache_write"], usage["cache_write_1h"]) == (70, 30, 10)


FOUR = {"ai.usage.promptTokens": 10, "ai.usage.completionTokens": 20}  # releases of the Vercel AI SDK
FIVE = {"ai.usage.inputTokens": 10, "ai.usage.outputTokens": 20, "ai.usage.totalTokens": 30}
SIX = {
    "ai.usage.inputTokens": 55,
    "ai.usage.outputTokens": 20,
    "ai.usage.inputTokenDetails.noCacheTokens": 10,
}
ANTHROPIC = {"cacheReadInputTokens": 40, "cacheCreationInputTokens": 5}
RAW = {"usage": {"input_tokens": 10, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5}}


@pytest.mark.parametrize(("figures", "metadata", "expected"), [
    (FOUR, {"anthropic": ANTHROPIC}, (55, 40, 5)),
    (FOUR, {"bedrock": {"usage": {"cacheReadInputTokens": 40, "cacheWriteInputTokens": 5}}}, (55, 40, 5)),
    (FIVE | {"ai.usage.cachedInputTokens": 40}, {"anthropic": RAW | ANTHROPIC}, (55, 40, 5)),
    (SIX, {"anthropic": RAW}, (55, 40, 5)),
    (SIX, {"anthropic": ANTHROPIC}, (55, 40, 5)),
    (FOUR, {"openai": {"cachedPromptTokens": 4}}, (10, 4, None)),
    (FOUR, {"anthropic": {}}, (10, None, None)),
])  # fmt: skip
def test_cached_tokens_in_the_metadata_of_a_provider_are_read(figures, metadata, expected):
    item = span({"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m"} | figures
                | {"ai.response.providerMetadata": json.dumps(metadata)})  # fmt: skip
    usage = item.digest.usage

    assert (usage["total_in"], usage.get("cache_read"), usage.get("cache_write")) == expected
    assert usage["output"] == 20
    assert "without_cache" not in usage


OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.token_count.prompt": 5000,
    "llm.token_count.completion": 100,
    "llm.token_count.total": 5100,
    "llm.token_count.prompt_details.cache_read": 3000,
}


@pytest.mark.parametrize(("scope", "uncached"), [
    ("openinference.instrumentation.claude_agent_sdk", 5000),
    ("@arizeai/openinference-instrumentation-claude-agent-sdk", 5000),
    ("openinference.instrumentation.anthropic", 2000),
])  # fmt: skip
def test_the_claude_agent_sdk_leaves_cached_tokens_out(scope, uncached):
    [end] = [event for kind, event in events([span(OPENINFERENCE, scope=scope)]) if kind == "TurnEnd"]
    assert (end["usage"]["input"], end["usage"]["cache_read"]) == (uncached, 3000)


def test_output_below_its_reasoning_is_read_as_without_it():
    end = turn_end({"gen_ai.usage.output_tokens": 20, "gen_ai.usage.reasoning_tokens": 70})
    assert (end["usage"]["output"], end["usage"]["reasoning"]) == (90, 70)


@pytest.mark.parametrize(("usage", "figures"), [
    ({"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 40}, (100, 40)),  # Anthropic
    ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 40}}, (60, 40)),
])  # fmt: skip
def test_cached_tokens_in_the_response_that_logfire_writes_are_read(usage, figures):
    end = turn_end(FIGURES | {"response_data": json.dumps({"usage": usage})})
    assert (end["usage"]["input"], end["usage"]["cache_read"]) == figures
