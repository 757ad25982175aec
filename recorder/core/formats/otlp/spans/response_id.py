"""The provider's id of a response: an attribute, or a field of the output."""

from __future__ import annotations

import re

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded_object, first_text, identifier

_NESTED = re.compile(r'"id":\s*"((?:msg|resp|chatcmpl|gen)[-_][\w-]{4,80})"')
_PREFIXES = ("msg_", "resp_", "chatcmpl-", "gen-")
_OF_RESPONSE = ("choices", "usage", "object", "stop_reason")  # fields of a response beside its id
_NO_IDS = frozenset(("__fake_id__",))  # openai-agents: of a response that is made of chat completions


def response_id(attributes: Fields) -> str:
    """Return the provider's id of the response of a model call; "" if it has none."""
    return identifier(first_text(attributes, names.RESPONSE_ID)) or _in_output(attributes)


def _in_output(attributes: Fields) -> str:
    """Return the id of the response that is the output, or is within it.

    An answer may be JSON with an id, too: a response has a known prefix or other fields of a response.
    """
    value = attributes.get("output.value")
    if not isinstance(value, str):
        return ""
    response = decoded_object(value) if value.lstrip()[:1] == "{" and '"id"' in value else {}
    own = first_text(response, ("id",))
    if own and (own.startswith(_PREFIXES) or any(name in response for name in _OF_RESPONSE)):
        return "" if own in _NO_IDS else identifier(own)
    match = _NESTED.search(value)
    return match[1] if match else ""
