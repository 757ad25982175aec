"""The call id, the arguments and the result of a tool, where each convention writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import (
    decoded_list,
    decoded_object,
    first,
    first_id,
    first_text,
)
from recorder.core.formats.otlp.spans.content.blocks import response_text
from recorder.core.records import Json

_NAMED = re.compile(r"^(?:execute_tool|(?:MCP request: )?tools/call) (?=.)")


def call_id_of(attributes: Fields, runtime: str) -> str:
    """Return the id of a tool's call; LangChain writes it in the call or message that it passes on."""
    found = first_id(attributes, names.CALL_ID)
    if found or runtime != "langchain":
        return found
    message = decoded_object(attributes.get("output.value"))
    inner = message.get("data")
    found = first_text(inner if isinstance(inner, dict) else message, ("tool_call_id",))
    return found or _id_of_call(decoded_object(attributes.get("input.value")))


def name_in(span: str) -> str:
    """Return the name of a tool in that of its span, behind what the span does."""
    return _NAMED.sub("", span)


def call_id_of_node(attributes: Fields) -> str:
    """Return the id of the call that a node of LangGraph executes; "" if it executes none or several."""
    value = attributes.get("input.value")
    if not isinstance(value, str) or value[:1] != "[":
        return ""
    calls = decoded_list(value)
    return _id_of_call(calls[0]) if len(calls) == 1 else ""


def _id_of_call(call: Json) -> str:
    if not isinstance(call, dict) or not call.keys() >= {"name", "args", "id"}:
        return ""
    return first_text(call, ("id",))


def result_of(attributes: Fields, events: Sequence[tuple[str, Fields]], runtime: str) -> Json:
    """Return the result of a tool span: its attribute, or the event that Claude Code or strands adds."""
    value = first(attributes, names.RESULT)
    if value is None and runtime == "gemini-cli":
        value = _gemini_result(attributes)
    if value is None:
        outputs = (fields for event, fields in events if event == "tool.output")
        fields_found = next(outputs, {})
        value = _first_of(fields_found, "output", "content", "diff", "error")
    if value is None:
        value = next((fields.get("message") for event, fields in events if event == "gen_ai.choice"), None)
    return value


def status_of(attributes: Fields, runtime: str) -> str:
    """Return the status that a tool span states itself: `error`, `cancelled` or another; "" without one."""
    found: Json = first_text(attributes, names.TOOL_STATUS).lower().replace("failed", "error")
    if any(str(attributes.get(name)).lower() == "true" for name in names.TOOL_FAILED):
        found = "error"
    if runtime == "gemini-cli":
        found = decoded_object(attributes.get("gen_ai.output.messages")).get("status")
    return found if isinstance(found, str) else ""


def arguments_of(attributes: Fields, events: Sequence[tuple[str, Fields]], runtime: str) -> Json:
    """Return the arguments of a tool span as they were sent."""
    value = first(attributes, names.ARGUMENTS)
    if value is None and runtime == "gemini-cli":
        value = decoded_object(attributes.get("gen_ai.input.messages")).get("args")
    if value is None and runtime == "claude-code":
        own = {"full_command": "command", "file_path": "file_path", "subagent_type": "subagent_type"}
        value = {to: attributes[name] for name, to in own.items() if name in attributes}
    if not value:
        sent = (fields.get("content") for event, fields in events if event == "gen_ai.tool.message")
        value = next(sent, value)
    return value


def named_arguments(value: Json) -> Json:
    """Return arguments by name where a traced function wrote them as `args` and `kwargs`."""
    if isinstance(value, dict) and _is_traced(value) and not is_positional(value):
        return value["kwargs"]
    return value


def plain_name(name: str) -> str:
    """Return the name of a tool as a model may call it: crewAI's names have spaces."""
    return re.sub(r"\W+", "_", name.lower())


def is_positional(value: Json) -> bool:
    """Return whether arguments are those of a traced function by their place, without their names."""
    return isinstance(value, dict) and _is_traced(value) and bool(value["args"])


def _is_traced(value: Fields) -> bool:
    """Return whether an object is the arguments of a traced function; smolagents adds a flag."""
    return value.keys() - {"sanitize_inputs_outputs"} == {"args", "kwargs"}


def _gemini_result(attributes: Fields) -> Json:
    """Return the output or the error of a tool of Gemini CLI, else what it displayed."""
    response = object_field(decoded_object(attributes.get("gen_ai.output.messages")), "response")
    return response_text(gemini_answer(attributes)) or _first_of(response, "resultDisplay", "error")


def gemini_answer(attributes: Fields) -> Fields:
    """Return the first `functionResponse` that a tool of Gemini CLI gave; an empty one without any."""
    response = object_field(decoded_object(attributes.get("gen_ai.output.messages")), "response")
    parts = response.get("responseParts")
    answers = (
        object_field(part, "functionResponse")
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict)
    )
    return next(filter(None, answers), {})


def _first_of(fields_found: Fields, *keys: str) -> Json:
    return next((fields_found[key] for key in keys if fields_found.get(key)), None)
