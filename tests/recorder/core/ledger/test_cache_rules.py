"""The table of cache rules: each model gets its row, and a setting counts where its provider says so."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from recorder.core.ledger.blocks import Block, Request
from recorder.core.ledger.cache_rules import RULES, UNKNOWN, is_documented, rules_of
from recorder.core.ledger.window import Call, Window
from tests.recorder.core.ledger.conversation import Conversation


@pytest.mark.parametrize(
    ("provider", "model", "least"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", 1024),
        ("anthropic", "claude-opus-4-20250514", 1024),
        ("anthropic", "claude-opus-4-1", 1024),
        ("anthropic", "claude-opus-4-8", 1024),
        ("anthropic", "claude-opus-5", 512),
        ("anthropic", "claude-opus-4-7", 2048),
        ("anthropic", "claude-3-5-haiku-latest", 2048),
        ("anthropic", "claude-opus-4-5-20251101", 4096),
        ("anthropic", "claude-haiku-4-5-20251001", 4096),
        ("amazon-bedrock", "us.anthropic.claude-opus-4-7-v1:0", 4096),
        ("openrouter", "anthropic/claude-haiku-4.5", 4096),
        ("google-vertex", "claude-opus-4-6", 4096),
        ("openai", "gpt-4o", 1024),
        ("google", "gemini-2.5-pro", 2048),
        ("google", "gemini-3.5-flash", 4096),
        ("openrouter", "deepseek/deepseek-chat", 64),
    ],
)
def test_the_least_prefix_is_that_of_the_model(provider, model, least):
    assert rules_of(provider, model).least_tokens == least


def test_lives_and_steps_of_openai_are_those_of_the_model():
    assert (rules_of("openai", "gpt-5-2025-08-07").life_s, rules_of("openai", "gpt-5").step) == (300, 128)
    assert (rules_of("openai", "gpt-5.6-mini").life_s, rules_of("openai", "gpt-5.6").step) == (1800, None)
    assert rules_of("openai", "gpt-5.5").life_s == 86_400


def test_an_unknown_provider_has_no_row_and_every_row_has_a_source():
    assert rules_of("ollama", "deepseek-r1") is UNKNOWN
    assert rules_of("openrouter", "some/model") is UNKNOWN
    assert not is_documented("", "")
    assert all(rules.source and rules.read_on for rules in RULES.values())


@pytest.mark.parametrize(
    ("provider", "setting", "verdict"),
    [
        ("anthropic", "thinking_level", "settings_changed"),
        ("anthropic", "tool_choice", "settings_changed"),
        ("openai", "response_format", "settings_changed"),
        ("openai", "tool_choice", "provider_miss"),
        ("anthropic", "temperature", "provider_miss"),
        ("openai", "max_tokens", "provider_miss"),
    ],
)
def test_only_settings_that_a_provider_caches_by_are_a_cause(provider, setting, verdict):
    talk = Conversation(1, provider)
    for _ in range(3):
        talk.call()
        talk.append()
    talk.payload[setting] = "other"
    talk.cached = []

    assert talk.call()[1].judgement.verdict == verdict


def test_a_prefix_with_extended_retention_lives_for_a_day():
    talk = Conversation(1, "openai")
    talk.payload["prompt_cache_retention"] = "24h"
    talk.call()
    talk.append()
    talk.plant("idle")

    found = talk.call()[1].judgement

    assert (found.verdict, found.life_s) == ("provider_miss", 86_400)


def test_an_automatic_cache_that_lags_behind_by_less_than_a_step_is_no_miss():
    talk = Conversation(1, "openai")
    talk.call()
    talk.append()
    talk.call()
    talk.append()
    talk.cached = talk.cached[:-1]

    found = talk.call()[1].judgement

    assert (found.verdict, found.lost_tokens) == ("append_only", 0)


def test_a_provider_that_reports_what_it_wrote_is_expected_to_read_that_much():
    at = datetime(2026, 11, 20, tzinfo=UTC)
    request = Request("gpt-5.6", {}, [Block("system", "a", 28_000)])
    first = Call(
        request=request, provider="openai", started_at=at, prompt=7_000, visible=9, cache_write=4_000
    )
    window = Window()
    window.add(first)

    found = window.add(replace(first, cache_read=4_000, cache_write=0)).judgement

    assert (found.verdict, found.expected_read) == ("append_only", 4_000)
