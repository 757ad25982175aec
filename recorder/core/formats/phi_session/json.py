"""JSON access for session files, with errors that name the JSON path, and conversion of times."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import NoReturn

from recorder.core.formats import InvalidLineError
from recorder.core.records import Json

Object = dict[str, Json]
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


def document(raw: bytes) -> Json:
    """Parse a file. Raises InvalidLineError; for bad JSON its `path` is the line number."""

    def refuse_constant(name: str) -> NoReturn:
        refuse("bad_json", "$", f"{name} is not JSON")

    try:
        value: Json = json.loads(raw, parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        refuse("bad_utf8", "$", f"not UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        refuse("bad_json", f"line {error.lineno}", error.msg)
    except RecursionError:
        refuse("too_deep", "$", "nested too deeply")
    except ValueError:  # an integer of more digits than Python reads
        refuse("out_of_range", "$", "a number is too long")
    return value


def object_at(value: Json, path: str) -> Object:
    """Return `value` if it is an object, else raise InvalidLineError."""
    if not isinstance(value, dict):
        refuse("not_object", path, "not an object")
    return value


def text_at(holder: Object, name: str, path: str) -> str:
    """Return a field that is non-empty text, else raise InvalidLineError."""
    value = holder.get(name)
    if not isinstance(value, str) or not value:
        refuse("missing_field", f"{path}.{name}", "missing, or not text: this is not a phi-core session")
    return value


def list_at(holder: Object, name: str, path: str) -> list[Json]:
    """Return a field that is a list, else raise InvalidLineError."""
    value = holder.get(name)
    if not isinstance(value, list):
        refuse("missing_field", f"{path}.{name}", "missing, or not a list: this is not a phi-core session")
    return value


def objects(holder: Object, name: str) -> list[Object]:
    """Return the objects of a list field; other values are skipped."""
    value = holder.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def refuse(code: str, path: str, message: str) -> NoReturn:
    raise InvalidLineError(code, path, message)


def wire_line(event: Object) -> bytes:
    """Return an event as one line of UTF-8 JSON."""
    try:
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can represent
        return json.dumps(event, separators=(",", ":")).encode()


def nanoseconds(value: Json) -> int | None:
    """Parse an RFC 3339 time to nanoseconds since 1970; None if it is not one.

    phi-core writes nine decimals, of which `datetime` holds six.
    """
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
    except ValueError:
        return None
    return int(moment.timestamp()) * 10**9 + int((match[2] or "0").ljust(9, "0"))


def message_time(message: Json) -> int | None:
    """Return a message's `timestamp` (milliseconds) in nanoseconds; None if it is missing or implausible."""
    at = message.get("timestamp") if isinstance(message, dict) else None
    is_time = isinstance(at, int) and not isinstance(at, bool) and 0 < at < 10**14
    return at * 10**6 if is_time and isinstance(at, int) else None


def rfc3339(nanoseconds: int) -> str:
    """Format nanoseconds since 1970 as RFC 3339 in UTC, with nine decimals."""
    moment = datetime.fromtimestamp(nanoseconds // 10**9, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09d}Z"


def at_time(nanoseconds: int | None) -> Object:
    """Return the field `timestamp`, or no field if the time is unknown."""
    return {} if nanoseconds is None else {"timestamp": rfc3339(nanoseconds)}
