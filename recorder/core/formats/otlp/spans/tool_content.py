"""The arguments and the result of a tool, where each convention writes them."""

from __future__ import annotations

from collections.abc import Sequence

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded_object, first
from recorder.core.records import Json


def result_of(attributes: Fields, events: Sequence[tuple[str, Fields]], runtime: str) -> Json:
    """Return the result of a tool span: its attribute, or the event that Claude Code adds."""
    value = first(attributes, names.RESULT)
    if value is None and runtime == "gemini-cli":
        value = decoded_object(attributes.get("gen_ai.output.messages")).get("response")
        response = value if isinstance(value, dict) else {}
        parts = response.get("responseParts")
        answers = (
            [part.get("functionResponse") for part in parts if isinstance(part, dict)]
            if isinstance(parts, list)
            else []
        )
        value = answers[0] if answers else _first_of(response, "resultDisplay", "error")
    if value is None:
        outputs = (fields for event, fields in events if event == "tool.output")
        fields_found = next(outputs, {})
        value = _first_of(fields_found, "output", "content", "diff", "error")
    return value


def arguments_of(attributes: Fields, runtime: str) -> Json:
    """Return the arguments of a tool span as they were sent."""
    value = first(attributes, names.ARGUMENTS)
    if value is None and runtime == "gemini-cli":
        value = decoded_object(attributes.get("gen_ai.input.messages")).get("args")
    if value is None and runtime == "claude-code":
        own = {"full_command": "command", "file_path": "file_path", "subagent_type": "subagent_type"}
        value = {to: attributes[name] for name, to in own.items() if name in attributes}
    return value


def _first_of(fields_found: Fields, *keys: str) -> Json:
    return next((fields_found[key] for key in keys if fields_found.get(key)), None)
