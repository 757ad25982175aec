"""The attributes of any span with those that it lacks in the names of the GenAI conventions."""

from __future__ import annotations

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import decoded_object
from recorder.core.formats.otlp.spans.senders import genkit, haystack

_BRAINTRUST = {"model": "gen_ai.request.model", "provider": "gen_ai.provider.name"}


def with_genai_names(name: str, attributes: Fields) -> Fields:
    """Return the attributes of a span, with further ones if its sender has names of its own."""
    if genkit.TYPE in attributes:
        return genkit.genai_names(name, attributes) | attributes
    if "braintrust.span_attributes" in attributes:
        return _braintrust(attributes) | attributes
    return haystack.with_genai_names(name, attributes)


def _braintrust(attributes: Fields) -> Fields:
    """Return model and provider of a call, which are in its metadata."""
    if decoded_object(attributes["braintrust.span_attributes"]).get("type") != "llm":
        return {}
    metadata = decoded_object(attributes.get("braintrust.metadata"))
    return {own: metadata[name] for name, own in _BRAINTRUST.items() if isinstance(metadata.get(name), str)}
