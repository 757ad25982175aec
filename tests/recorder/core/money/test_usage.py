"""Disjoint buckets of usage, by each convention."""

import pytest

from recorder.core.events import Usage
from recorder.core.money.usage import Buckets, buckets, convention
from recorder.core.records import ModelConfig

# One call: 17,903 prompt tokens of which 17,817 were cached, 512 tokens of answer of which 300 were thought.
SHAPES = {
    "anthropic_messages": {"input": 86, "cache_read": 17_817, "output": 512, "reasoning": 300},
    "bedrock_converse_stream": {
        "input": 86,
        "cache_read": 17_817,
        "output": 512,
        "reasoning": 300,
        "total_tokens": 598,
    },
    "open_ai_completions": {
        "input": 17_903,
        "cache_read": 17_817,
        "output": 512,
        "reasoning": 300,
        "total_tokens": 18_415,
    },
    "open_ai_responses": {
        "input": 17_903,
        "cache_read": 17_817,
        "output": 512,
        "reasoning": 300,
        "total_tokens": 18_415,
    },
    "azure_open_ai_responses": {"input": 17_903, "cache_read": 17_817, "output": 512, "reasoning": 300},
    "google_generative_ai": {
        "input": 17_903,
        "cache_read": 17_817,
        "output": 512,
        "reasoning": 300,
        "total_tokens": 18_415,
    },
    "google_vertex": {
        "input": 17_903,
        "cache_read": 17_817,
        "output": 512,
        "reasoning": 300,
        "total_tokens": 18_415,
    },
}


def config(api=None, provider="acme"):
    return ModelConfig(key="k", model="m", provider=provider, snapshot={"api": api})


@pytest.mark.parametrize("api", SHAPES)
def test_a_call_has_the_same_buckets_by_every_convention(api):
    found = buckets(Usage(**SHAPES[api]), convention(config(api)))

    assert found == Buckets(uncached=86, cache_read=17_817, cache_write=0, visible=212, reasoning=300)
    assert found.prompt == 17_903


def test_cache_writes_are_subtracted_from_an_input_that_includes_them():
    written = {"cache_read": 10, "cache_write": 20, "output": 0}

    assert buckets(Usage(input=100, **written), "inside").uncached == 70
    assert buckets(Usage(input=100, **written), "beside").uncached == 100


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        ({"input": 10, "output": 5, "cache_read": 11}, "inside"),  # more cached than there was
        ({"input": 10, "output": 5, "reasoning": 6}, "beside"),  # more thought than was written
        ({"input": 10, "output": 5, "cache_write": 1, "cache_write_1h": 2}, "beside"),
        ({"input": 10, "output": 5}, None),  # who counted is not known
    ],
)
def test_usage_that_does_not_reconcile_has_no_buckets(given, counted):
    assert buckets(Usage(**given), counted) is None


def test_zero_usage_is_zero_in_every_bucket_by_any_convention():
    assert buckets(Usage(input=0, output=0, total_tokens=99), None) == Buckets()


def test_the_api_precedes_the_provider_and_the_answers_provider_the_configs():
    assert convention(config("open_ai_completions", "anthropic"), "anthropic") == "inside"
    assert convention(config(None, "anthropic"), "openai") == "inside"
    assert convention(config(None, "Anthropic"), "unknown") == "beside"
    assert convention(config("my_api", "acme"), "") is None
    assert convention(None) is None
    assert convention(config(None, "openai"), "openai", source="cagent") == "beside"
