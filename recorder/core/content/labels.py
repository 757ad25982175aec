"""Labels of sessions: the tags that a runtime reported, and the metadata of its loops as names and values.

They are what sessions are found by; the journal keeps tags and metadata as they were sent. An object within
metadata gives names with dots, a list several values: `{"build": {"id": 7}}` is `build.id` with the value 7.
A tag is a text; an object gives a tag for each key: `{"starred": true}` is `starred`, `{"team": "core"}` is
`team=core`. Null and false give no tag, and null no metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from recorder.core.content.text import clean
from recorder.core.records import SPAWNED_BY, Json, Session

LABELS_MAX = 100  # different tags of a session, and pairs of name and value; further ones are not indexed
TEXT_MAX = 200  # characters of a name and of a value, the rest is cut
DEPTH_MAX = 4  # of objects within metadata
READ_MAX = 1_000  # values of one event that are looked at
SEPARATOR = "\x1f"  # never in a label, so that a name and a value can be one text


def reported_tags(tags: object) -> list[str]:
    """Return the tags of one report, each once."""
    return list(dict.fromkeys(islice(_tags(tags), READ_MAX)))[:LABELS_MAX]


def merged(had: Mapping[str, Sequence[str]], metadata: object) -> dict[str, list[str]]:
    """Return the values of each name, with those of one more loop; `had` is not changed."""
    pairs = {(name, value) for name, values in had.items() for value in values}
    new = {name: list(values) for name, values in had.items()}
    for pair in islice(_pairs(metadata, "", DEPTH_MAX), READ_MAX) if isinstance(metadata, dict) else ():
        if pair not in pairs and len(pairs) < LABELS_MAX:
            pairs.add(pair)
            new.setdefault(pair[0], []).append(pair[1])
    return new


def metadata_of(stored: Json) -> dict[str, list[str]]:
    """Return the stored metadata of a session: the values of each name, in order of arrival."""
    if not isinstance(stored, dict):
        return {}
    lists = {name: values for name, values in stored.items() if isinstance(values, list)}
    return {name: [value for value in values if isinstance(value, str)] for name, values in lists.items()}


def tags_of(stored: Json) -> list[str]:
    """Return the stored tags of a session."""
    return [tag for tag in stored if isinstance(tag, str)] if isinstance(stored, list) else []


def labels_of(session: Session) -> Iterator[tuple[str, str]]:
    """Yield name and value of each label: "tag" or "metadata.NAME"."""
    for tag in tags_of(session.tags):
        yield "tag", tag
    for name, values in metadata_of(session.metadata).items():
        for value in values:
            yield f"metadata.{name}", value


def label_text(text: str) -> str:
    """Return a text as labels hold it."""
    return clean(text, TEXT_MAX).replace(SEPARATOR, "\ufffd")


def _tags(tags: object) -> Iterator[str]:
    if isinstance(tags, dict):
        for name, value in tags.items():
            text = _text(value)
            if value is True:
                yield label_text(name)
            elif text is not None and value is not False:
                yield label_text(f"{name}={text}")
        return
    for tag in tags if isinstance(tags, list) else [tags]:
        text = _text(tag)
        if text and not isinstance(tag, bool):
            yield label_text(text)


def _pairs(metadata: dict[str, object], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, value in metadata.items():
        path = f"{prefix}{name}"
        if path == SPAWNED_BY:  # of each sub-agent another one: nothing to find a session by
            continue
        if isinstance(value, dict):
            if depth > 1:
                yield from _pairs(value, f"{path}.", depth - 1)
            continue
        for each in value if isinstance(value, list) else [value]:
            text = _text(each)
            if text is not None:
                yield label_text(path), label_text(text)


def _text(value: object) -> str | None:
    """Return a scalar as text, as JSON writes it; None for null, objects and lists."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else None
