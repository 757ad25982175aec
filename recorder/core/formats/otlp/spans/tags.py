"""The tags of a trace: lists, or texts with JSON or commas, under the names of all senders."""

from __future__ import annotations

from collections.abc import Iterator

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded, decoded_object
from recorder.core.records import Json

_OWN = ("seq:step:", "graph:step:", "langsmith:")  # that LangChain gives its own runs


def tags_of(attributes: Fields) -> Iterator[str]:
    """Yield the tags among the attributes of a span."""
    named = (attributes.get(name) for name in names.TAGS)
    of_metadata = (decoded_object(attributes.get(name)).get("tags") for name in names.METADATA)
    for value in map(decoded, (*named, *of_metadata)):
        found: list[Json] = [*value.split(",")] if isinstance(value, str) else []
        found = value if isinstance(value, list) else found
        texts = (tag.strip() for tag in found if isinstance(tag, str))
        yield from (tag for tag in texts if tag and not tag.startswith(_OWN))
