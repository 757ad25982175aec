"""Native lines: phi-core's events and ours, one JSON object a line.

The standard library says what a line holds, not pydantic: it keeps lone surrogates and huge integers of
content, and its pairs hook sees keys that are given twice. But it is slow, so that jiter reads all lines in
which it finds nothing of the kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import accumulate
from math import inf
from typing import NoReturn, get_args

from jiter import from_json
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from recorder.core.events import Event, InternalEvent, MessageEnd, MessageStart, SourceEvent
from recorder.core.events.base import construct, fields_of
from recorder.core.events.fields import ID_BYTES, ids_of, is_id, parse_timestamp, without_infinities
from recorder.core.formats import DEFAULT_LIMITS, InvalidLineError, Limits
from recorder.core.records import Json

_NOT_STRUCTURE = bytes(set(range(256)) - set(b'{[]}"'))
_STEP = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_CODES = frozenset(("bad_id", "bad_timestamp", "wrong_type", "missing_field"))
_RANGE = frozenset(("greater_than_equal", "less_than_equal", "less_than", "int_parsing_size"))
# For lines that were accepted once: a limit that was lowered since does not make them wrong.
NO_LIMITS = Limits(event_bytes=2**40, depth=2**20)
_INFINITE = (inf, -inf)
_COUNTED = ("usage", "evaluation_usage")
# So no key of the event is given twice; of a message's own the last one counts, whichever way it is read.
_MESSAGE = re.compile(
    rb'\{"type":"(MessageStart|MessageEnd)","loop_id":"([ !#-\[\]-~]{1,512})","message":(.+)\}', re.DOTALL
)
_MESSAGES: dict[bytes, type[MessageStart | MessageEnd]] = {
    b"MessageStart": MessageStart,
    b"MessageEnd": MessageEnd,
}
_JITER_DEPTH = 201  # jiter reads nothing deeper, and of that depth only what is empty inside
_DIGITS = 4000  # Python turns longer digits into an int only when asked to
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


class _Doubled(dict[str, Json]):
    """An object in which a key stands twice; the last one counts."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.twice = {name for name in names if names.count(name) > 1} if len(names) < 100 else set(self)


def parse(line: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Event:
    """Read one line. Raises Refused with the protocol's code."""
    fields, is_quick = _object(line, limits)
    name = fields.get("type")
    model = EVENT_TYPES.get(name) if isinstance(name, str) else None
    if model is None and not is_id(name):
        raise InvalidLineError("bad_type", "type", "an event has a type, which is text")
    if not is_quick:
        _refuse_doubled(fields, _READ_OF_UNKNOWN if model is None else _READ[model], "")
        for inside in _COUNTED if model else ():
            if isinstance(usage := fields.get(inside), _Doubled):
                _refuse_doubled(usage, frozenset(usage), f"{inside}.")
    if model is None:
        return _source_event(str(name), fields)
    event = validate_event(model, fields)
    if limits.id_bytes < ID_BYTES:
        _refuse_long_ids(event, model, limits.id_bytes)
    return event


def parse_all(lines: Iterable[bytes], *, limits: Limits = DEFAULT_LIMITS) -> list[Event | InvalidLineError]:
    """Read lines that follow each other: of each, what `parse` returns or raises."""
    found: list[Event | InvalidLineError] = []
    messages = _Messages(limits)
    for line in lines:
        try:
            found.append(messages.read(line) or parse(line, limits=limits))
        except InvalidLineError as refused:
            found.append(refused.without_traceback())
    return found


class _Messages:
    """Reads messages as phi-core writes them: half of all lines, and there is little to check in them.

    A message that no model writes ends as it starts: the same text is not read twice.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._text = b""
        self._message: Json = None

    def read(self, line: bytes) -> Event | None:
        """Read a line in two thirds of the time; None if it may be any other, or is to be refused."""
        found = _MESSAGE.fullmatch(line)
        if found is None:
            return None
        name, loop_id, text = found.groups()
        if len(loop_id) > self._limits.id_bytes or len(line) > self._limits.event_bytes:
            return None
        if text != self._text:
            message = _quick(text, sees_doubled=False) if _brackets(line) <= self._limits.depth else None
            if message is None:
                return None
            self._text, self._message = text, message
        return construct(_MESSAGES[name], loop_id=loop_id.decode(), message=self._message)


def validate_event(model: type[Event], fields: dict[str, Json]) -> Event:
    """Check the fields of one event."""
    try:
        event: Event = _CHECKS[model](fields)
    except ValidationError as error:
        raise _refusal(error) from None
    if event.type in _OWN and not (fields.get("loop_id") or fields.get("session_id")):
        raise InvalidLineError("missing_field", "session_id", "the event names neither a loop nor a session")
    return event


def read_object(line: bytes, limits: Limits = DEFAULT_LIMITS) -> dict[str, Json]:
    """Read one JSON object. Raises Refused if it is none, or too large or too deep."""
    return {name: without_infinities(value) for name, value in _object(line, limits)[0].items()}


def _object(line: bytes, limits: Limits) -> tuple[dict[str, Json], bool]:
    """Return a line's object, and whether it was read the quick way: then no key is given twice."""
    if len(line) > limits.event_bytes:
        raise InvalidLineError("too_large", "", f"an event has at most {limits.event_bytes} bytes")
    is_plain = _brackets(line) <= limits.depth
    value = _quick(line) if is_plain else _quick_within(line, limits.depth)
    is_quick = value is not None
    if not is_plain and not is_quick and _depth(line) > limits.depth:
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
    return found if len(found) == len(pairs) else _Doubled(pairs)


def _no_constant(word: str) -> NoReturn:
    raise json.JSONDecodeError(f"{word} is not JSON", word, 0)


def _long_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


# A number beyond a float is infinite here: what is kept of an event is made finite by its fields.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant)
_LONG_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant, parse_int=_long_int)


def _quick(text: bytes, *, sees_doubled: bool = True) -> Json:
    """Read JSON in a third of the time; None if the slow way might find something else in it."""
    try:
        value: Json = from_json(
            text, allow_inf_nan=False, catch_duplicate_keys=sees_doubled, cache_mode="keys"
        )
    except ValueError:
        return None
    return value


def _quick_within(line: bytes, depth: int) -> Json:
    """Do the same; None too for what is deeper: with as much around it, jiter reads it no longer."""
    around = max(0, _JITER_DEPTH - depth)
    value = _quick(b"[" * around + line + b"]" * around)
    for _ in range(around):
        if not isinstance(value, list) or len(value) != 1:  # a line like "],[" stands for several values
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


def _brackets(line: bytes) -> int:
    """Count what opens in a line: to see that it is not deep. `count` takes 15 times as long as `replace`."""
    return len(line) - len(line.replace(b"{", b"").replace(b"[", b""))


def _depth(line: bytes) -> int:
    """Return how many arrays and objects stand in each other, in a line that may be too deep to read."""
    structure = line.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE)
    brackets = b"".join(structure.split(b'"')[::2])  # every other piece is inside a string
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def _refuse_doubled(fields: dict[str, Json], read: frozenset[str], path: str) -> None:
    if isinstance(fields, _Doubled) and (twice := sorted(fields.twice & read)):
        raise InvalidLineError("dup_key", path + twice[0], "the key is given twice")


def _refuse_long_ids(event: Event, model: type[Event], longest: int) -> None:
    for name in _IDS[model]:
        held: str | tuple[str, ...] | None = getattr(event, name)
        for each in (held,) if isinstance(held, str) else held or ():
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
    is_beyond = kind in _RANGE or first["input"] in _INFINITE
    return InvalidLineError("out_of_range" if is_beyond else "wrong_type", path, first["msg"])
