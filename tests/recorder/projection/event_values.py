"""Values for every field of every event, chosen by what the field's own validator accepts.

Fields and types are those of the event union: one that is added later is covered without a change here, or
`accepted` fails and says for which field a candidate is missing.
"""

from typing import Annotated, get_args

from pydantic import TypeAdapter, ValidationError

from recorder.core.events.base import fields_of
from recorder.core.events.fields import ids_of
from recorder.core.formats.native import EVENT_TYPES
from tests.support import build

LOOP = "<loop>"  # is replaced by the loop that a line is of
CONFIG = {"model": "m", "provider": "anthropic", "config_id": "c", "temperature": 0.5}
USAGE = {"input": 100, "output": 20, "reasoning": 5, "cache_read": 30, "cache_write": 4, "total_tokens": 120}
MESSAGES = [
    build.user("Name *it*."),
    build.assistant("**Done** so far.", model="gpt-x", provider="openai"),
    build.assistant("", stop="error", error="Overloaded."),
    build.user("[Agent stopped: no more turns]"),
    build.tool_result(),
]
CONTENT = [
    *MESSAGES,
    MESSAGES,
    {"child_loop_id": "kid.k.1", "content": []},
    {"Text": {"delta": "he"}},
    {"Thinking": {"delta": "hm"}},
    {"command": "ls", "timeout": 3},
    {"parent_session_id": "kid", "parent_loop_id": "kid.k.1", "tool_call_id": "c9", "tool_name": "spawn"},
    {"Branch": "tag"},
    CONFIG,
    ["a", {"b": 1}],
    0.0125,
]
TEXTS = ["", "ls -la\x00 \ud800", "irregular", "x" * 2_100]
CANDIDATES = [None, True, False, 0, 3, 4_000, build.time(3), USAGE, *TEXTS, *CONTENT]
# Ids name something: by a part of the field's name.
IDS = {"loop": [LOOP, "kid.k.1"], "session": ["s"], "call": ["c1", "c2"], "": ["one", "two"]}


def event_types():
    """Return the events that may be sent, by the name of their type."""
    return EVENT_TYPES


def accepted(model):
    """Return the values that each field of an event takes, by its name on the wire."""
    ids, found = ids_of(model), {}
    for name, field in fields_of(model).items():
        if name == "type":
            continue
        named = next(pool for part, pool in IDS.items() if part in name)
        others = [*_words(field.annotation), *CANDIDATES]
        pool = [*named, [*named, "one"], None, ""] if name in ids else others
        check = TypeAdapter(Annotated[field.annotation, *field.metadata]) if field.metadata else None
        values = [value for value in pool if _takes(check or TypeAdapter(field.annotation), value)]
        assert any(values), f"no candidate for {model.__name__}.{name}"
        found[field.alias or name] = values
    return found


def _words(annotation):
    """Return the literals that are in a type, or in the fields of a part of an event."""
    if isinstance(annotation, str):
        return [annotation]
    inside = [field.annotation for field in getattr(annotation, "__pydantic_fields__", {}).values()]
    return [word for part in (*get_args(annotation), *inside) for word in _words(part)]


def _takes(check, value):
    try:
        check.validate_python(value)
    except ValidationError:
        return False
    return True


def variations(name):
    """Yield events of a type: each field with each of its values, the others as at first and last."""
    values = accepted(EVENT_TYPES[name])
    whole = {field: next(filter(None, some)) for field, some in values.items()}
    about = fields_of(EVENT_TYPES[name]).items()
    needed = {field for field, each in about if each.is_required() or field == "loop_id"}
    for field, some in values.items():
        for value in some:
            yield {"type": name, **whole, field: value}
            yield {"type": name, **{each: whole[each] for each in needed}, field: value}
