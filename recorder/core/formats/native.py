"""Reader of the native format: phi-core's events and ours, one JSON object a line.

phi-core's events are defined by `src/types/event.rs` of its repository, ours by `recorder/core/events/`. An
event of an unknown type becomes a SourceEvent; nothing is dropped, as the line itself is stored.

The standard library's `json` is the reference: it keeps lone surrogates and huge integers of content, and its
pairs hook reports duplicate keys. It is slow, so jiter parses every line first, and `json` parses again only
what jiter rejects. Invariant: both return the same value for each line that jiter accepts. A message line of
phi-core's own layout is matched by a regular expression first and skips validation (`_Messages`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from math import inf
from typing import NoReturn, get_args

from jiter import from_json
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from recorder.core.events import Event, InternalEvent, MessageEnd, MessageStart, SourceEvent
from recorder.core.events.base import construct, fields_of
from recorder.core.events.fields import ID_BYTES, ids_of, is_id, parse_timestamp, without_infinities
from recorder.core.formats import DEFAULT_LIMITS, InvalidLineError, Limits
from recorder.core.formats.structure import count_keys, has_more_values, is_deeper, opening_brackets
from recorder.core.records import Json

_CODES = frozenset(("bad_id", "bad_timestamp", "wrong_type", "missing_field"))
_RANGE = frozenset(("greater_than_equal", "less_than_equal", "less_than", "int_parsing_size"))
# For recorded lines: they stay valid when a limit is lowered.
NO_LIMITS = Limits(event_bytes=2**40, event_values=2**40, depth=2**20)
_INFINITE = (inf, -inf)
_TYPE_MESSAGES = {  # in place of pydantic's, which name types of Python
    "bool_type": "the value is true or false",
    "dict_type": "the value is an object",
    "dataclass_type": "the value is an object",
    "int_type": "the value is a whole number",
    "list_type": "the value is an array",
    "string_type": "the value is text",
    "tuple_type": "the value is an array",
}
_COUNTED = ("usage", "evaluation_usage")
# The event's keys are fixed here. Of duplicate keys in a message the last one counts for both parsers.
_MESSAGE = re.compile(
    rb'\{"type":"(MessageStart|MessageEnd)","loop_id":"([ !#-\[\]-~]{1,512})","message":(.+)\}', re.DOTALL
)
_MESSAGES: dict[bytes, type[MessageStart | MessageEnd]] = {
    b"MessageStart": MessageStart,
    b"MessageEnd": MessageEnd,
}
_JITER_DEPTH = 201  # jiter rejects deeper JSON, and at this depth all but empty objects and arrays
# jiter's check for duplicate keys takes three times as long as its parsing where an object has very many, and
# holds the interpreter's lock. The number of keys shows as well whether one came twice.
_LONG, _MANY_KEYS = 128 * 1024, 20_000
_DIGITS = 4000  # Python limits the digits of int() to 4300 by default
_OWN = frozenset(
    "AgentSwitched ApprovalRequested ApprovalResolved ErrorRaised Notice UsageSnapshot SessionInfo".split()
)

EVENT_TYPES: dict[str, type[Event]] = {
    fields_of(model)["type"].default: model
    for model in get_args(Event)
    if model not in get_args(InternalEvent)
}
_CHECKS = {model: TypeAdapter(model).validator.validate_python for model in EVENT_TYPES.values()}
_IDS = {model: ids_of(model) for model in EVENT_TYPES.values()}
_READ = {
    model: frozenset(field.alias or key for key, field in fields_of(model).items())
    for model in EVENT_TYPES.values()
}
_READ_OF_UNKNOWN = frozenset(("type", "loop_id", "session_id", "timestamp"))


class _DuplicateKeys(dict[str, Json]):
    """An object with duplicate keys, listed in `twice`; the last value of a key counts."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.twice = {name for name in names if names.count(name) > 1} if len(names) < 100 else set(self)


def parse(line: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Event:
    """Parse one line.

    Raises:
        InvalidLineError: with a reject code of the protocol.
    """
    fields, is_quick = _object(line, limits)
    name = fields.get("type")
    model = EVENT_TYPES.get(name) if isinstance(name, str) else None
    if model is None and not is_id(name):
        raise InvalidLineError("bad_type", "type", "an event has a type, which is text")
    if not is_quick:
        _refuse_duplicates(fields, _READ_OF_UNKNOWN if model is None else _READ[model], "")
        for inside in _COUNTED if model else ():
            if isinstance(usage := fields.get(inside), _DuplicateKeys):
                _refuse_duplicates(usage, frozenset(usage), f"{inside}.")
    if model is None:
        return _source_event(str(name), fields)
    event = validate_event(model, fields)
    if limits.id_bytes < ID_BYTES:
        _refuse_long_ids(event, model, limits.id_bytes)
    return event


def parse_all(lines: Iterable[bytes], *, limits: Limits = DEFAULT_LIMITS) -> list[Event | InvalidLineError]:
    """Return for each line of a batch what `parse` returns or raises, in order."""
    found: list[Event | InvalidLineError] = []
    messages = _Messages(limits)
    for line in lines:
        try:
            found.append(messages.read(line) or parse(line, limits=limits))
        except InvalidLineError as error:
            found.append(error.without_traceback())
    return found


class _Messages:
    """Fast path for MessageStart and MessageEnd in phi-core's layout, which are half of all lines.

    A message that is not streamed has the same text in both events: it is parsed once.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._text = b""
        self._message: Json = None

    def read(self, line: bytes) -> Event | None:
        """Return the event, or None if `parse` has to decide. Takes two thirds of the time of `parse`."""
        found = _MESSAGE.fullmatch(line)
        if found is None:
            return None
        name, loop_id, text = found.groups()
        if len(loop_id) > self._limits.id_bytes or len(line) > self._limits.event_bytes:
            return None
        if has_more_values(line, self._limits.event_values):
            return None
        if text != self._text:
            is_plain = opening_brackets(line) <= self._limits.depth
            message = _quick(text, rejects_duplicates=False) if is_plain else None
            if message is None:
                return None
            self._text, self._message = text, message
        return construct(_MESSAGES[name], loop_id=loop_id.decode(), message=self._message)


def validate_event(model: type[Event], fields: dict[str, Json]) -> Event:
    """Validate the fields of an event. Raises InvalidLineError."""
    try:
        event: Event = _CHECKS[model](fields)
    except ValidationError as error:
        raise _refusal(error) from None
    if event.type in _OWN and not (fields.get("loop_id") or fields.get("session_id")):
        raise InvalidLineError("missing_field", "session_id", "the event names neither a loop nor a session")
    return event


def read_object(line: bytes, limits: Limits = DEFAULT_LIMITS) -> dict[str, Json]:
    """Parse a JSON object. Numbers beyond a float become None.

    Raises:
        InvalidLineError: not an object, not UTF-8, or beyond `limits`.
    """
    return {name: without_infinities(value) for name, value in _object(line, limits)[0].items()}


def _object(line: bytes, limits: Limits) -> tuple[dict[str, Json], bool]:
    """Return a line's object, and whether jiter parsed it: then it has no duplicate keys."""
    if len(line) > limits.event_bytes:
        raise InvalidLineError("too_large", "", f"an event has at most {limits.event_bytes} bytes")
    if has_more_values(line, limits.event_values):
        raise InvalidLineError("too_large", "", f"an event has at most {limits.event_values} keys and values")
    is_plain = opening_brackets(line) <= limits.depth
    value = _quick(line) if is_plain else _quick_within(line, limits.depth)
    is_quick = value is not None
    if not is_plain and not is_quick and is_deeper(line, limits.depth):
        raise InvalidLineError("too_deep", "", f"JSON is nested at most {limits.depth} deep")
    try:
        value = value or _load(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidLineError("bad_utf8", "", f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidLineError("bad_json", "", str(error)) from None
    if not isinstance(value, dict):
        raise InvalidLineError("not_object", "", "an event is a JSON object")
    return value, is_quick


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _DuplicateKeys(pairs)


def _no_constant(word: str) -> NoReturn:
    raise InvalidLineError("bad_json", "", f"{word} is not JSON")


def _long_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


# A number beyond a float becomes infinite here; validation of the fields makes it finite.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant)
_LONG_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant, parse_int=_long_int)


def _quick(text: bytes, *, rejects_duplicates: bool = True) -> Json:
    """Parse with jiter, in a third of the time of `json`; None if `json` might return something else."""
    if rejects_duplicates and len(text) > _LONG and text.count(b":") > _MANY_KEYS:
        value = _quick(text, rejects_duplicates=False)
        return value if value is None or _number_of_keys(value) == count_keys(text) else None
    try:
        parsed: Json = from_json(
            text, allow_inf_nan=False, catch_duplicate_keys=rejects_duplicates, cache_mode="keys"
        )
    except ValueError:
        return None
    return parsed


def _number_of_keys(value: Json) -> int:
    number, values = 0, [value]
    for each in values:  # it grows while it is read
        if isinstance(each, dict):
            number += len(each)
            values.extend(each.values())
        elif isinstance(each, list):
            values.extend(each)
    return number


def _quick_within(line: bytes, depth: int) -> Json:
    """Parse with jiter; None also beyond `depth`. Arrays around the line make it reach jiter's own limit."""
    around = max(0, _JITER_DEPTH - depth)
    value = _quick(b"[" * around + line + b"]" * around)
    for _ in range(around):
        if not isinstance(value, list) or len(value) != 1:  # a line like "],[" gives several values
            return None
        value = value[0]
    return value


def _load(text: str) -> Json:
    try:
        value: Json = _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than Python reads by default
        value = _LONG_DECODER.decode(text)
    return value


def _refuse_duplicates(fields: dict[str, Json], read: frozenset[str], path: str) -> None:
    if isinstance(fields, _DuplicateKeys) and (twice := sorted(fields.twice & read)):
        raise InvalidLineError("dup_key", path + twice[0], "the key is given twice")


def _refuse_long_ids(event: Event, model: type[Event], longest: int) -> None:
    for name in _IDS[model]:
        ids: str | tuple[str, ...] | None = getattr(event, name)
        for each in (ids,) if isinstance(ids, str) else ids or ():
            if len(each.encode()) > longest:
                raise InvalidLineError("bad_id", name, f"an id has at most {longest} bytes")


def _source_event(name: str, fields: dict[str, Json]) -> SourceEvent:
    loop_id, session_id, time = fields.get("loop_id"), fields.get("session_id"), fields.get("timestamp")
    return construct(
        SourceEvent,
        source="native",
        name=name,
        loop_id=loop_id if is_id(loop_id) else None,
        session_id=session_id if is_id(session_id) else None,
        timestamp=parse_timestamp(time) if isinstance(time, str) else None,
    )


def _refusal(error: ValidationError) -> InvalidLineError:
    first: ErrorDetails = error.errors(include_url=False, include_context=False)[0]
    kind, path = first["type"], ".".join(str(step) for step in first["loc"])
    if kind in _CODES:
        return InvalidLineError(kind, path, first["msg"])
    if kind == "missing":
        return InvalidLineError("missing_field", path, "the field is missing")
    if first["input"] in _INFINITE:
        return InvalidLineError("out_of_range", path, "the number is out of range")
    code = "out_of_range" if kind in _RANGE else "wrong_type"
    return InvalidLineError(code, path, _TYPE_MESSAGES.get(kind, first["msg"]))
