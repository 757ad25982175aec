"""Check one condition: is there such a key, and are these values of it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.query_language import keys, values
from dashboard.query_language.errors import QueryError
from dashboard.query_language.nodes import Condition
from dashboard.query_language.tokens import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.query_language.keys import Key, Type
    from dashboard.query_language.nodes import Operator
    from dashboard.query_language.tokens import Token, Value

VALUES_MAX = 50  # of one list
VALUE_MAX = 512  # characters of one value
SHOWN_MAX = 40  # characters of a value that a message repeats

EXPECTED: dict[Type, str] = {
    "number": "a number such as 20 or 12.5k",
    "amount": "an amount such as 1.50 or $1.50",
    "duration": "a duration such as 90s, 1.5h or 7d",
    "time": "a date, a time such as 2026-11-01T14:00Z, or a duration such as 7d",
    "boolean": "true or false",
}
READS: dict[Type, Callable[[str], object | None]] = {
    "text": lambda text: text,
    "number": values.number,
    "amount": values.amount,
    "duration": values.duration,
    "time": values.is_time,
    "boolean": values.boolean,
}
COMPARED: tuple[Type, ...] = ("number", "amount", "duration")


def checked(text: str, token: Token) -> Condition:
    """Return the condition of a token. Raises QueryError."""
    found = keys.find(token.text)
    if found is None:
        raise _unknown(text, token)
    name, key = found
    if not token.values:
        raise QueryError(
            token.at, token.end - token.at, f"“{token.text}” needs a value, as in {key.example}."
        )
    _check_shape(text, token, key)
    for value in token.values:
        _check_value(value, token.sign, key)
    return _condition(name, key, token)


def _condition(name: str, key: Key, token: Token) -> Condition:
    begins = tuple(value.text for value in token.values if value.is_prefix)
    whole = tuple(_canonical(value.text, key) for value in token.values if not value.is_prefix)
    if not whole:
        return Condition(name, "begins", begins)
    operator: Operator = token.sign or "="  # type: ignore[assignment]  # SIGN
    return Condition(name, operator, whole, begins)


def _unknown(text: str, token: Token) -> QueryError:
    unknown = f"Unknown key “{_shorten(token.text)}” at character {token.at + 1}."
    near = keys.near(token.text)
    if near:
        return QueryError(token.at, len(token.text), f"{unknown} Did you mean {near}?", near)
    message = (
        f"Unknown key “{_shorten(token.text)}” at character {token.at + 1}. Quote the text to search for it."
    )
    return QueryError(token.at, token.end - token.at, message, quote(text[token.at : token.end]))


def _check_shape(text: str, token: Token, key: Key) -> None:
    if token.sign and not key.is_ordered:
        at = token.values[0].at - len(token.sign)
        raise QueryError(at, len(token.sign), f"“{token.text}” has no order: write {key.example}.", "")
    for value in token.values:
        if value.is_prefix and (not key.is_text or token.sign):
            star = text.rindex("*", value.at, value.at + value.length)
            raise QueryError(star, 1, f"“{token.text}” takes whole values, as in {key.example}.", "")
    if len(token.values) > VALUES_MAX:
        last = token.values[VALUES_MAX]
        raise QueryError(last.at, last.length, f"A list has at most {VALUES_MAX} values.")


def _check_value(value: Value, sign: str, key: Key) -> None:
    if not value.text:
        raise QueryError(value.at, value.length, f"“{key.name}” needs a value, as in {key.example}.")
    if len(value.text) > VALUE_MAX:
        raise QueryError(value.at, value.length, f"A value has at most {VALUE_MAX} characters.")
    if "choice" in key.types and value.text.lower() in key.choices:
        return
    if key.name == "has" and value.text.lower().startswith(keys.NAMED) and keys.find(value.text):
        return
    if any(
        READS[kind](value.text) is not None for kind in key.types if kind in (COMPARED if sign else READS)
    ):
        return
    raise _bad_value(value, sign, key)


def _bad_value(value: Value, sign: str, key: Key) -> QueryError:
    shown = _shorten(value.text)
    wanted = [EXPECTED[kind] for kind in key.types if kind in EXPECTED and (not sign or kind in COMPARED)]
    if "choice" in key.types:
        near = [word for word in key.choices if keys.is_one_edit(value.text.lower(), word)]
        if len(near) == 1:
            message = f"“{shown}” is no value of {key.name}. Did you mean {near[0]}?"
            return QueryError(value.at, value.length, message, near[0])
        wanted.insert(0, f"one of {', '.join(key.choices)}")
    return QueryError(value.at, value.length, f"“{key.name}” needs {' or '.join(wanted)}, found “{shown}”.")


def _canonical(text: str, key: Key) -> str:
    """Return a value as nodes hold it: words of our own in lower case, everything else as typed."""
    if "text" in key.types:
        return text
    if key.name == "has" and (found := keys.find(text)):
        return found[0]
    return text.lower() if {"choice", "boolean"} & set(key.types) else text


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
