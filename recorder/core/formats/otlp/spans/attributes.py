"""Values of OTLP/JSON: attributes as plain values, ids, times."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from recorder.core.events.fields import ID_BYTES, is_id, visible, without_infinities
from recorder.core.formats import EVENT_VALUES
from recorder.core.formats.base import Fields, parse_arguments
from recorder.core.formats.python_text import as_json
from recorder.core.formats.structure import has_more_values
from recorder.core.records import Json

_HEX = re.compile(r"[0-9a-f]+")
_DEPTH = 64  # of nested values; a deeper one is read as null
NS = 1_000_000_000
_NONE = frozenset(("null", "<not specified>"))  # texts for no value: logfire, Google ADK
# Words that programs write where they have no id.
_NO_IDS = frozenset((
    *("", "unknown", "undefined", "none", "null", "nil", "nan", "n/a", "na", "-", "-1", "false", "true"),
    *("anonymous", "default", "unset", "not set", "not_set", "not-set", "not specified", "missing"),
    *("invalid", "no-session", "no_session", "unknown-session", "unknown_session", "unknown-user"),
    *("unknown_user", "object object", "unspecified", "not available", "no session", "not provided"),
))  # fmt: skip
_BRACKETS = "\"'<>()[]{}"
# A template that was never filled in, or a UUID of zeros.
_TEMPLATE = re.compile(r"\$\{[^\"]*\}|\{\{[^\"]*\}\}|\{[\w.]*\}|<%[^\"]*%>|0{8}(?:-0{4}){3}-0{12}")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.0*)?")
_PRINTED = frozenset(
    ("content", "choices", "usage")
)  # a field of each object that is read of its fields alone
ID_CHARS = 200  # of a session id, a call id, a name


def plain(value: Json, depth: int = 0) -> Json:  # noqa: PLR0911  one arm a kind
    """Return an AnyValue as a plain value; 64-bit integers come as text or number."""
    if not isinstance(value, dict) or depth > _DEPTH:
        return None
    for kind, found in value.items():
        if kind == "stringValue" or kind == "boolValue" or kind == "doubleValue":
            return found
        if kind == "intValue":
            return integer(found)
        if kind == "arrayValue" and isinstance(found, dict):
            values = found.get("values")
            return [plain(each, depth + 1) for each in values] if isinstance(values, list) else []
        if kind == "kvlistValue" and isinstance(found, dict):
            return mapping(found.get("values"), depth + 1)
        if kind == "bytesValue":
            return found
    return None


def mapping(pairs: Json, depth: int = 0) -> Fields:
    """Return a list of KeyValue as an object; of equal keys the last one counts."""
    if not isinstance(pairs, list):
        return {}
    return {
        key: plain(pair.get("value"), depth)
        for pair in pairs
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str)
    }


def integer(value: Json) -> int | None:
    """Return an integer that may be written as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return _integer_of_text(value) if isinstance(value, str) and len(value) <= 24 else None


def _integer_of_text(text: str) -> int | None:
    """Return an integer written with or without a fraction of zeros, as `100.0`."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return integer(float(text))
    except ValueError:
        return None


def hex_id(value: Json, digits: int) -> str:
    """Return an id in lower-case hex; "" if it is missing, malformed or all zeros."""
    if not isinstance(value, str) or len(value) != digits:
        return ""
    found = value.lower()
    return found if _HEX.fullmatch(found) and found.strip("0") else ""


def identifier(text: str) -> str:
    """Return a text as an id or a name that an event may have: without invisible characters, and cut."""
    cut = text[:ID_CHARS]
    if not cut or is_id(cut):
        return cut
    return visible(cut).encode()[:ID_BYTES].decode(errors="ignore")


def moment(nanoseconds: int) -> datetime:
    """Return a time in nanoseconds since 1970 as an aware one, cut to microseconds."""
    seconds, rest = divmod(nanoseconds, NS)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


def first(fields: Fields, names: tuple[str, ...]) -> Json:
    """Return the value of the first of some names that is there and not null."""
    for name in names:
        if (value := fields.get(name)) is not None:
            return value
    return None


def first_text(fields: Fields, names: tuple[str, ...]) -> str:
    """Return the first of some fields that is text and not empty; some texts mean none."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value and value not in _NONE:
            return value
    return ""


def first_id(fields: Fields, names: tuple[str, ...]) -> str:
    """Return the first of some fields that is an id: a text as of `first_text`, or an integer as text.

    Words for no id are none.
    """
    for name in names:
        if (value := fields.get(name)) is None:
            continue
        number = None if isinstance(value, str) else integer(value)
        found = first_text(fields, (name,)).strip() if number is None else str(number)
        if found and found.strip(_BRACKETS).lower() not in _NO_IDS and not _TEMPLATE.fullmatch(found):
            return found
    return ""


def first_count(fields: Fields, names: tuple[str, ...]) -> int | None:
    """Return the first of some fields that is a counter, as number or text; None without one.

    A text may have commas between thousands.
    """
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and _THOUSANDS.fullmatch(value[:24]):
            value = value.replace(",", "")
        found = integer(value)
        if found is not None and 0 <= found < 2**53:
            return found
    return None


def decoded(value: Json) -> Json:
    """Return the value of a JSON text, or of one that Python printed.

    Another text, or one that is too large, stays a text. So do objects that Python printed without brackets
    around them, unless they are messages, results or responses.
    """
    if not isinstance(value, str) or has_more_values(value.encode(errors="replace"), EVENT_VALUES):
        return value
    printed = as_json(value)
    if not printed and value[:1] not in ("{", "[", '"'):
        return value
    try:
        found = without_infinities(json.loads(printed or value))
    except (ValueError, RecursionError):
        return value
    is_bare = bool(printed) and value.lstrip()[:1] not in ("{", "[", "(")
    return value if is_bare and not (isinstance(found, dict) and found.keys() & _PRINTED) else found


def decoded_arguments(value: Json) -> Json:
    """Return the arguments of a tool call, decoded if they are JSON, or an object that Python printed."""
    found = parse_arguments(value)
    return decoded_object(found) or found


def decoded_object(value: Json) -> Fields:
    """Return the object of a JSON text or value; an empty one for anything else."""
    found = decoded(value)
    return found if isinstance(found, dict) else {}


def decoded_list(value: Json) -> list[Json]:
    """Return the list of a JSON text or value; an empty one for anything else."""
    found = decoded(value)
    return found if isinstance(found, list) else []
