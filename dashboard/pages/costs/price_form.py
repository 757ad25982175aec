"""Validation of the price form: dollars per million tokens as Decimal, or an error per field. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from recorder.core.money.prices import Rates

RATE_MAX = Decimal(1_000_000)  # dollars per million tokens: one dollar per token
PLACES = 9  # decimals: the unit is a nano-dollar per million tokens
NAME_MAX = 512
RATES = ("input", "output", "reasoning", "cache_read", "cache_write", "cache_write_1h")
WORDS = {
    "model": "Model",
    "provider": "Provider",
    "input": "Input",
    "output": "Output",
    "reasoning": "Reasoning",
    "cache_read": "Cache read",
    "cache_write": "Cache write",
    "cache_write_1h": "1-hour cache write",
    "valid_from": "Valid from",
}
HINTS = {
    "reasoning": "empty: as output",
    "cache_read": "empty: as input",
    "cache_write": "empty: as input",
    "cache_write_1h": "empty: as cache write",
    "valid_from": "empty: always",
}
REQUIRED = ("model", "provider", "input", "output")


@dataclass(frozen=True, slots=True)
class Draft:
    """A valid price, not yet stored."""

    model: str
    provider: str
    rates: Rates
    valid_from: datetime | None = None  # None: always


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the form: label, submitted value and error message."""

    name: str
    words: str
    value: str
    wrong: str

    @property
    def is_required(self) -> bool:
        return self.name in REQUIRED

    @property
    def is_rate(self) -> bool:
        return self.name in RATES

    @property
    def hint(self) -> str:
        """Return the rule for an empty field."""
        return HINTS.get(self.name, "")


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """A submitted form: values to show again, errors by field, and the price if there are no errors."""

    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    draft: Draft | None = None

    @property
    def fields(self) -> list[Field]:
        return [
            Field(name, words, self.values.get(name, ""), self.errors.get(name, ""))
            for name, words in WORDS.items()
        ]


def read(fields: Mapping[str, str]) -> SubmittedForm:
    """Validate the form; `draft` is set when there are no errors."""
    values = {name: fields.get(name, "").strip()[: NAME_MAX + 1] for name in WORDS}
    errors: dict[str, str] = {}
    rates = {name: _rate(name, values, errors) for name in RATES}
    valid_from = _day(values["valid_from"], errors)
    for name in ("model", "provider"):
        _check_name(name, values[name], errors)
    if errors:
        return SubmittedForm(values, errors)
    return SubmittedForm(
        values, errors, Draft(values["model"], values["provider"], _complete(rates), valid_from)
    )


def _complete(entered: Mapping[str, Decimal | None]) -> Rates:
    """Return all rates; a token kind without its own rate has the rate of its parent kind."""
    rates = {name: rate for name, rate in entered.items() if rate is not None}
    write = rates.get("cache_write", rates["input"])
    return Rates(
        input=rates["input"],
        cache_read=rates.get("cache_read", rates["input"]),
        cache_write=write,
        cache_write_1h=rates.get("cache_write_1h", write),
        output=rates["output"],
        reasoning=rates.get("reasoning", rates["output"]),
    )


def _rate(name: str, values: Mapping[str, str], errors: dict[str, str]) -> Decimal | None:
    text = values[name].removeprefix("$").strip()
    if not text:
        if name in REQUIRED:
            errors[name] = f"{WORDS[name]} needs a price; 0 if it is free."
        return None
    problem = ""
    try:
        rate = Decimal(text) if text.isascii() and "_" not in text else Decimal("NaN")
    except InvalidOperation:
        rate = Decimal("NaN")
    if not rate.is_finite():
        problem = "is not a number; write dollars per million tokens, like 0.15"
    elif rate < 0:
        problem = "cannot be below zero"
    elif rate > RATE_MAX:
        problem = f"is above {RATE_MAX:,} dollars per million tokens"
    elif _places(rate) > PLACES:
        problem = f"has more than {PLACES} decimals"
    if not problem:
        return rate
    errors[name] = f"{WORDS[name]} {problem}."
    return None


def _places(rate: Decimal) -> int:
    exponent = rate.normalize().as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _day(text: str, errors: dict[str, str]) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        errors["valid_from"] = "Valid from is not a date; write it like 2026-11-01."
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _check_name(name: str, text: str, errors: dict[str, str]) -> None:
    if not text:
        if name in REQUIRED:
            errors[name] = f"{WORDS[name]} is missing."
    elif len(text) > NAME_MAX or not text.isprintable():
        errors[name] = f"{WORDS[name]} is not a name: one line of at most {NAME_MAX} characters."
