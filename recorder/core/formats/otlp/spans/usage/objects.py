"""Objects with the token counts of a call: attributes that are one, names with one beginning, and responses.

Providers and frameworks nest the counts in forms of their own. An object is read as its counts by their
path, such as `inputtokensdetails.cachedtokens`: without underscores and in lower case, as spellings differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans import names as span_names
from recorder.core.formats.otlp.spans.attributes import decoded, decoded_object, first_count
from recorder.core.formats.otlp.spans.usage import names
from recorder.core.records import Json

_DEPTH = 4  # of objects with counts
_AROUND = 8  # objects and lists around the usage of a response
_COUNTS = 200  # of one object
_NAME_CHARS = 100  # of an attribute with usage
_ABOUT = re.compile(r"usage|token", re.IGNORECASE)
# Names of attributes that are such an object, or that names of counts begin with; sums of calls are none.
_ROOT = re.compile(
    r"(?!.*(?:cumulat|session|budget|limit|quota|memory|disk|cpu))"
    r"(?:.*[._])?(?:usage|(?:token|model)_?usage|token_?counts?|tokens"
    r"|(?:token_?)?usage[._]?(?:metadata|details|info|tokens|raw|json))",
    re.IGNORECASE,
)
_PART = re.compile(rf"({_ROOT.pattern}?)\.(.+)", re.IGNORECASE)
_KEYS = (
    *("usage", "usage_metadata", "usageMetadata", "token_usage", "tokenUsage", "usage_details"),
    "additional_kwargs",  # LlamaIndex
)
_FIGURES = frozenset((*names.JSON_INPUT, *names.JSON_OUTPUT))
_WORDS = ("usage", "Usage", "_tokens")  # one of which is in the text of a response with usage
# Fields of a response that lead to its usage, of which the first one that does counts.
_HOLDERS = (
    *("llm_output", "response_metadata", "response", "raw_response", "raw", "message", "kwargs", "data"),
    *("additional_kwargs", "generations", "messages", "output", "outputs", "result", "meta"),
)
_RESPONSES = dict.fromkeys(
    (*names.RESPONSES, *span_names.RESPONSES, *span_names.OUTPUT_MESSAGES, "response", "gen_ai.response")
)


def usage_object(attributes: Fields) -> Fields:
    """Return the first object of usage among attributes; an empty one without any."""
    found = (decoded_object(attributes.get(name)) for name in names.USAGE_JSON)
    others = (
        usage
        for name, value in _objects_about_usage(attributes)
        if _ROOT.fullmatch(name) and _has_counts(usage := decoded_object(value))
    )
    responses = (object_field(decoded_object(attributes.get(own)), name) for own, name in names.IN_RESPONSE)
    return next(filter(None, chain(found, others, responses)), {})


def usage_of_names(attributes: Fields) -> Fields:
    """Return the counts whose names have one beginning as an object of usage; an empty one without any."""
    groups: dict[str, Fields] = defaultdict(dict)
    for name, value in attributes.items():
        if _is_about_usage(name) and (match := _PART.fullmatch(name)):
            groups[match[1]][match[2]] = value
    return next(filter(_has_counts, groups.values()), {})


def usage_in_response(attributes: Fields) -> Fields:
    """Return the usage in the response of a call; an empty object without any."""
    for name in _RESPONSES:
        value = attributes.get(name)
        if isinstance(value, str) and not any(word in value for word in _WORDS):
            continue
        if found := _usage_within(decoded(value), 0):
            return found
    return {}


def counts_of(usage: Fields) -> Fields:
    """Return the counts of an object of usage by their path."""
    found: Fields = {}
    for path, value in _leaves(usage, 0):
        found.setdefault(path.replace("_", "").lower(), value)
        if len(found) >= _COUNTS:
            break
    return found


def with_details(attributes: Fields) -> Fields:
    """Return attributes with the counts of those that are objects of details, each under a name of its own.

    `gen_ai.usage.prompt_tokens_details` becomes `gen_ai.usage.prompt_tokens_details.cached_tokens`.
    """
    found: Fields = {}
    for name, value in _objects_about_usage(attributes):
        if _PART.fullmatch(name):
            details = decoded_object(value)
            found |= {f"{name}.{path}": count for path, count in _leaves(details, 1)}
    return attributes | found if found else attributes


def _objects_about_usage(attributes: Fields) -> Iterator[tuple[str, Json]]:
    for name, value in attributes.items():
        is_object = isinstance(value, dict) or (isinstance(value, str) and value[:1] == "{")
        if is_object and _is_about_usage(name):
            yield name, value


def _is_about_usage(name: str) -> bool:
    return len(name) <= _NAME_CHARS and _ABOUT.search(name) is not None


def _usage_within(value: Json, depth: int) -> Fields:
    if depth > _AROUND:
        return {}
    if isinstance(value, list):
        inner = [found for each in value if (found := _usage_within(each, depth + 1))]
        return inner[0] if len(inner) == 1 else {}  # several are of several calls
    if not isinstance(value, dict):
        return {}
    own = (found for key in _KEYS if _has_counts(found := object_field(value, key)))
    inside = (_usage_within(value[key], depth + 1) for key in _HOLDERS if key in value)
    return next(filter(None, chain(own, inside)), {})


def _has_counts(usage: Fields) -> bool:
    counts = counts_of(usage)
    return first_count(counts, tuple(counts.keys() & _FIGURES)) is not None


def _leaves(usage: Fields, depth: int) -> Iterator[tuple[str, Json]]:
    """Yield the values of an object by their path, without texts and lists that are no counts."""
    for name, value in usage.items():
        inner = decoded_object(value) if depth < _DEPTH else {}
        if inner:
            yield from ((f"{name}.{path}", count) for path, count in _leaves(inner, depth + 1))
        elif isinstance(value, int | float | str):
            yield name, value
