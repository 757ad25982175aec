"""The price list: under which names a model has its price, and which have none."""

from decimal import Decimal

import pytest

from recorder.pricing.price_list import listed


def rates(model, provider):
    """Return the price of a million tokens of input and output; None without a price."""
    found = listed(model, provider)
    return (found[-1].bands[0].rates.input, found[-1].bands[0].rates.output) if found else None


@pytest.mark.parametrize(
    ("model", "provider", "same", "at"),
    [
        ("claude-4.5-sonnet", "anthropic", "claude-sonnet-4-5", "anthropic"),
        ("claude-4-5-sonnet", "", "claude-sonnet-4-5", "anthropic"),
        ("claude-4-opus", "anthropic", "claude-opus-4", "anthropic"),
        ("openai/gpt-5.2", "openai", "gpt-5.2", "openai"),
    ],
)
def test_a_model_has_its_price_under_the_names_of_other_hosts(model, provider, same, at):
    assert rates(model, provider) == rates(same, at) is not None


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        *((alias, "anthropic") for alias in ("opus", "sonnet", "haiku")),
        *((name, "openai") for name in ("gpt5.6", "gpt-5.3-codex-spark", "codex-auto-review")),
        ("qwen3-coder-plus", ""),
        ("glm-4.6:cloud", "ollama"),
        ("qwen/qwen3-coder:free", ""),
    ],
)
def test_a_name_that_no_vendor_prices_has_no_price(model, provider):
    assert rates(model, provider) is None


def test_a_free_model_of_openrouter_costs_nothing():
    assert rates("qwen/qwen3-coder:free", "openrouter") == (0, 0)


@pytest.mark.parametrize(
    ("model", "times"),
    [
        ("claude-opus-4-6", "1.1"),
        ("claude-sonnet-4-6", "1.1"),
        ("claude-opus-5-5", "1.1"),
        ("claude-opus-4-5", "1"),
        ("claude-haiku-4-5-20251001", "1"),
        ("claude-sonnet-4-20250514", "1"),
    ],
)
def test_inference_in_the_united_states_alone_costs_a_tenth_more_since_opus_4_6(model, times):
    usual = rates(model, "anthropic")

    assert rates(f"{model}[us]", "anthropic") == tuple(rate * Decimal(times) for rate in usual)
