"""Validation of the price form."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from dashboard.pages.costs.price_form import Draft, read
from recorder.core.money.prices import Rates

GOOD = {"model": "qwen3-coder-30b", "provider": "local", "input": "0.15", "output": "0.60"}


def test_a_price_is_read_exactly():
    typed = read(GOOD | {"cache_read": "$0.015", "valid_from": "2026-11-01"})

    assert typed.errors == {}
    assert (typed.draft.model, typed.draft.provider) == ("qwen3-coder-30b", "local")
    assert typed.draft.rates.cache_read == Decimal("0.015")
    assert typed.draft.valid_from == datetime(2026, 11, 1, tzinfo=UTC)


def test_an_empty_rate_is_the_rate_of_its_parent_kind():
    draft = read(GOOD | {"cache_write": "0.2"}).draft

    assert draft == Draft(
        "qwen3-coder-30b",
        "local",
        Rates(
            input=Decimal("0.15"),
            cache_read=Decimal("0.15"),
            cache_write=Decimal("0.2"),
            cache_write_1h=Decimal("0.2"),
            output=Decimal("0.60"),
            reasoning=Decimal("0.60"),
        ),
    )


def test_zero_is_a_price():
    assert read(GOOD | {"input": "0", "output": "0.00"}).draft.rates.input == 0


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("-1", "below zero"),
        ("-0.0000001", "below zero"),
        ("NaN", "not a number"),
        ("sNaN", "not a number"),
        ("Infinity", "not a number"),
        ("1,5", "not a number"),
        ("1_000", "not a number"),
        ("١٢", "not a number"),
        ("abc", "not a number"),
        ("1e999999", "above"),
        ("1000000.01", "above"),
        ("0.0000000001", "decimals"),
        ("1e-999999", "decimals"),
        ("", "needs a price"),
    ],
)
def test_an_invalid_price_is_rejected_with_a_clear_error(text, word):
    typed = read(GOOD | {"input": text})

    assert typed.draft is None
    assert word in typed.errors["input"]
    assert typed.values["input"] == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model", ""),
        ("model", "a\nb"),
        ("model", "a\0b"),
        ("model", "x" * 513),
        ("model", "a\u202eb"),
        ("provider", ""),
        ("provider", "a\x1bb"),
        ("valid_from", "tomorrow"),
        ("valid_from", "2026-13-01"),
        ("cache_read", "free"),
    ],
)
def test_an_error_is_shown_at_its_field_and_the_other_values_stay(name, text):
    typed = read(GOOD | {name: text})

    assert list(typed.errors) == [name]
    assert typed.draft is None
    assert typed.values["output"] == "0.60"


def test_all_errors_are_shown_at_once():
    typed = read({"input": "-1", "cache_write": "x"})

    assert set(typed.errors) == {"model", "provider", "input", "output", "cache_write"}
