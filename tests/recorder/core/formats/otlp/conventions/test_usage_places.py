"""Usage and cost where they stand elsewhere than in the attributes of a call, or in a form of their own."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
TOKENS = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
DETAILS = "gen_ai.client.inference.operation.details"


def figures(attributes, *events_of_span):
    """Return input and output of the only call; None where no usage is known."""
    [end] = of_type([span(attributes, events=events_of_span)], "TurnEnd")
    return None if end.get("has_usage") is False else (end["usage"]["input"], end["usage"]["output"])


@pytest.mark.parametrize("name", [DETAILS, "gen_ai.choice", "gen_ai.content.completion"])
def test_usage_in_an_event_of_the_span_is_that_of_the_call(name):
    assert figures(CALL, (name, TOKENS)) == (100, 20)


def test_usage_of_the_span_comes_before_that_of_an_event_and_the_last_event_before_others():
    later = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 30}

    assert figures(CALL | TOKENS, ("gen_ai.choice", later)) == (100, 20)
    assert figures(CALL, ("gen_ai.choice", TOKENS), ("gen_ai.choice", later)) == (100, 30)
    assert figures(CALL, ("http.retry", TOKENS)) is None


def test_an_event_with_the_details_of_a_call_makes_its_span_a_call():
    assert figures({}, (DETAILS, CALL | TOKENS)) == (100, 20)


@pytest.mark.parametrize(("sent", "expected"), [
    ("1,200", 1200),
    ("1,234,567", 1_234_567),
    ("1,200.0", 1200),
    ("12,00", 0),
    ("1.200", 0),
    ("1200 tokens", 0),
])  # fmt: skip
def test_a_count_as_text_may_have_commas_between_thousands(sent, expected):
    assert figures(CALL | {"gen_ai.usage.input_tokens": sent, "gen_ai.usage.output_tokens": 3}) == (
        expected,
        3,
    )


@pytest.mark.parametrize(("names", "expected"), [
    (("gen_ai.usage.text.input_tokens", "gen_ai.usage.image.input_tokens", "gen_ai.usage.text.output_tokens"),
     (15, 7)),
    (("gen_ai.usage.input_tokens.text", "gen_ai.usage.input_tokens.audio",
      "gen_ai.usage.output_tokens.audio"), (15, 7)),
    (("gen_ai.usage.input_token_details.text", "gen_ai.usage.input_tokens_details.audio_tokens",
      "llm.token_count.completion_details.audio"), (15, 7)),
    (("gen_ai.usage.text.cache_read.input_tokens", "gen_ai.usage.cost.input", "gen_ai.usage.input"), (7, 0)),
])  # fmt: skip
def test_tokens_of_each_modality_are_added_where_no_sum_is_stated(names, expected):
    assert figures(CALL | dict(zip(names, (10, 5, 7), strict=True))) == expected


def test_tokens_of_a_modality_are_a_part_of_a_stated_sum():
    assert figures(CALL | TOKENS | {"gen_ai.usage.text.input_tokens": 90}) == (100, 20)


def test_one_of_input_and_output_follows_from_the_other_and_the_total():
    total = {"gen_ai.usage.total_tokens": 120}

    assert figures(CALL | total | {"gen_ai.usage.input_tokens": 100}) == (100, 20)
    assert figures(CALL | total | {"gen_ai.usage.output_tokens": 20}) == (100, 20)
    assert figures(CALL | total) is None


@pytest.mark.parametrize("stated", [
    {"logfire.metrics": json.dumps({"operation.cost": {"details": [], "total": 0.0123}})},
    {"cost": 0.0123},
    {"cost": "$0.0123"},
    {"cost": json.dumps({"total": 0.0123})},
    {"cost.total": "0.0123 USD"},
    {"usage.cost": 0.0123},
])  # fmt: skip
def test_a_cost_in_metrics_or_under_a_plain_name_is_that_of_the_call(stated):
    [end] = of_type([span(CALL | TOKENS | stated)], "TurnEnd")
    assert end["cost"] == "0.012300000"


def test_a_plain_cost_of_an_agent_is_none_of_its_calls():
    agent = span({"gen_ai.operation.name": "invoke_agent", "cost": 5}, number=9, to=9)
    [end] = of_type([agent, span(CALL, parent=9, at=1)], "TurnEnd")
    assert "cost" not in end
