"""The request of a model call without its messages: system prompt, definitions of the tools, settings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded, decoded_list, decoded_object, first_text
from recorder.core.records import Json

_LISTS = (
    "gen_ai.tool.definitions",  # GenAI
    "ai.prompt.tools",  # Vercel AI SDK
    "gen_ai.request.tools",
    "llm.request.functions",
)
_INDEXED = re.compile(r"(?:llm\.tools|llm\.request\.functions)\.(\d{1,4})\.(.+)")  # OI; traceloop
_OBJECTS = (
    ("model_request_parameters", "function_tools"),  # pydantic-ai
    ("llm.invocation_parameters", "tools"),  # OI
    ("response", "tools"),  # logfire for openai-agents
)
_INSTRUCTIONS = ("llm.invocation_parameters", "response")  # objects of OpenAI's Responses API


def request_of(attributes: Fields, system: str) -> Fields:
    """Return `system_prompt` and `tools` of a call as far as sent; `system` is that of its messages."""
    prompt = system or next(
        (found for name in _INSTRUCTIONS
         if (found := first_text(decoded_object(attributes.get(name)), ("instructions",)))),
        "",
    )  # fmt: skip
    tools = list(_tools(attributes))
    return ({"system_prompt": prompt} if prompt else {}) | ({"tools": tools} if tools else {})


def print_of(request: Fields) -> str:
    """Return the fingerprint of a request; "" for an empty one."""
    text = repr(request).encode(errors="replace")
    return hashlib.blake2b(text, digest_size=6).hexdigest() if request else ""


def merged(requests: Iterable[Fields]) -> Fields:
    """Return the request of one call as several lines have it: each part of the first line that has it."""
    found: Fields = {}
    for request in requests:
        found = request | found
    return found


def settings_of(attributes: Fields) -> Fields:
    """Return the settings of a call under our names; the first spelling that has a value counts."""
    objects = [decoded_object(attributes[name]) for name in names.SETTINGS_JSON if name in attributes]
    found = {name: _setting((name, *others), attributes, objects) for name, others in names.SETTINGS.items()}
    return {name: value for name, value in found.items() if value is not None}


def _setting(spellings: Sequence[str], attributes: Fields, objects: Iterable[Fields]) -> Json:
    """Return a setting from attributes of its own, else from JSON objects; None without one."""
    both = [*spellings, *map(_camel, spellings)]  # Vercel AI SDK's are in camel case
    own = [
        attributes.get(f"{prefix}{name}") for name in both for prefix in ("gen_ai.request.", "ai.settings.")
    ]
    found = [*own, *(each.get(name) for each in objects for name in both)]
    return next((value for value in found if _is_scalar(value)), None)


def _is_scalar(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _tools(attributes: Fields) -> Iterator[Json]:
    listed = next((found for name in _LISTS if (found := decoded_list(attributes.get(name)))), [])
    listed = listed or _indexed(attributes)
    for name, inner in _OBJECTS if not listed else ():
        value = decoded_object(attributes.get(name)).get(inner) if name in attributes else None
        listed = listed or (value if isinstance(value, list) else [])
    for each in map(decoded, listed):
        declared = each.get("functionDeclarations") if isinstance(each, dict) else None  # Gemini's API
        yield from declared if isinstance(declared, list) else [each] if isinstance(each, dict) else []


def _indexed(attributes: Fields) -> list[Json]:
    """Return the tools of flattened attributes, each a JSON text or fields of its own."""
    found: dict[int, Fields] = {}
    for name, value in attributes.items():
        if match := _INDEXED.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [_flat(found[number]) for number in sorted(found)]


def _flat(fields: Fields) -> Json:
    schema = decoded(text_field(fields, "tool.json_schema"))
    if isinstance(schema, dict):
        return schema
    parameters = object_field({"found": decoded(fields.get("parameters"))}, "found")
    about = {name: fields[name] for name in ("name", "description") if isinstance(fields.get(name), str)}
    return about | ({"parameters": parameters} if parameters else {}) if about else None
