"""The field types of events: strict where Loopscope computes with the value, any JSON where it is content.

A validator raises PydanticCustomError whose type is a reject code of the protocol.
"""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING, Annotated, TypeGuard

from pydantic import Field, PlainValidator
from pydantic_core import PydanticCustomError

from recorder.core.events.base import fields_of
from recorder.core.records import Json

ID_BYTES = 512
COUNT_MAX = 2**53 - 1
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:)(\d\d)(?:\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)


def is_id(value: object) -> TypeGuard[str]:
    """Return whether `value` is a valid id: 1 to 512 bytes without control, surrogate or bidi characters."""
    if not isinstance(value, str) or not value:
        return False
    if value.isascii():
        return len(value) <= ID_BYTES and value.isprintable()
    if any(c in _BIDI or unicodedata.category(c) in ("Cc", "Cs") for c in value):
        return False
    return len(value.encode()) <= ID_BYTES


def visible(text: str) -> str:
    """Return a text with U+FFFD in place of the characters that an id may not have."""
    return "".join("\ufffd" if c in _BIDI or unicodedata.category(c) in ("Cc", "Cs") else c for c in text)


def parse_timestamp(text: str) -> datetime | None:
    """Return an RFC 3339 time in UTC, cut to the microsecond; None if `text` is none."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    if match[2] == "60":  # a leap second, which datetime cannot represent
        text = f"{match[1]}59.999999{match[3]}"
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def without_infinities(value: Json) -> Json:
    """Return a value with null in place of infinities, which JSON cannot express.

    They result from numbers on the wire that exceed a float.
    """
    if value is None or isinstance(value, str) or _is_finite(value):
        return value
    replaced: Json = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return replaced


def _is_finite(value: Json) -> bool:
    values = [value]
    for item in values:  # it grows while it is read
        if isinstance(item, dict):
            values.extend(item.values())
        elif isinstance(item, list):
            values.extend(item)
        elif isinstance(item, float) and not isfinite(item):
            return False
    return True


def _id(value: object) -> str:
    if is_id(value):
        return value
    if isinstance(value, str):
        raise PydanticCustomError(
            "bad_id", "an id has 1 to 512 bytes and no control, surrogate or bidi characters"
        )
    raise PydanticCustomError("wrong_type", "an id is a string")


def _id_or_none(value: object) -> str | None:
    return None if value is None else _id(value)


def _id_or_empty(value: object) -> str:
    return "" if value == "" else _id(value)


def _ids(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_id(item) for item in value)
    raise PydanticCustomError("wrong_type", "a list of ids is needed")


def _timestamp(value: object) -> datetime:
    if isinstance(value, str) and (time := parse_timestamp(value)) is not None:
        return time
    raise PydanticCustomError(
        "bad_timestamp", "a timestamp is RFC 3339 text with a zone and at most 9 fractional digits"
    )


def _timestamp_or_none(value: object) -> datetime | None:
    return None if value is None else _timestamp(value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise PydanticCustomError("wrong_type", "a string is needed")


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _snapshot(value: Json) -> Json:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise PydanticCustomError("wrong_type", "a config snapshot is an object")
    for name in ("model", "provider"):
        if name not in value:
            raise PydanticCustomError("missing_field", "a config snapshot names its model and provider")
        _text(value[name])
    return without_infinities(value)


def ids_of(model: type) -> tuple[str, ...]:
    """Return the names of an event's fields that hold ids."""
    fields = fields_of(model).items()
    return tuple(name for name, field in fields if any(mark in _IDS for mark in field.metadata))


if TYPE_CHECKING:
    Content = Json
else:
    Content = object  # pydantic passes an object through; it would walk and copy a recursive alias

_IDS = tuple(map(PlainValidator, (_id, _id_or_none, _id_or_empty, _ids)))
Id = Annotated[str, _IDS[0]]
OptionalId = Annotated[str | None, _IDS[1]]
LoopIdOrEmpty = Annotated[str, _IDS[2]]
Ids = Annotated[tuple[str, ...], _IDS[3]]
Timestamp = Annotated[datetime, PlainValidator(_timestamp)]
OptionalTimestamp = Annotated[datetime | None, PlainValidator(_timestamp_or_none)]
Text = Annotated[str, PlainValidator(_text)]
OptionalText = Annotated[str | None, PlainValidator(_text_or_none)]
Count = Annotated[int, Field(strict=True, ge=0, le=COUNT_MAX)]
TurnIndex = Annotated[int, Field(strict=True, ge=0, lt=2**32)]
Flag = Annotated[bool, Field(strict=True)]
Snapshot = Annotated[Content, PlainValidator(_snapshot)]
StoredContent = Annotated[Content, PlainValidator(without_infinities)]  # content that a column stores as JSON
