"""The blocks of a message: text, thinking, tool calls and tool results, in the forms of all vendors."""

from __future__ import annotations

import json
import re

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans.attributes import decoded, decoded_arguments, decoded_object
from recorder.core.formats.otlp.spans.content.hosted_calls import (
    CALLS,
    HOSTED,
    RESULTS,
    first_of,
    is_item,
    kind_of_part,
    parts_of,
)
from recorder.core.formats.otlp.spans.content.media import media_text, text_without_bytes
from recorder.core.formats.python_text import as_json
from recorder.core.records import Json

# An exception as languages print it: its name and a colon at the start, or Python's traceback.
_EXCEPTION = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|(?:Uncaught |Unhandled )?[\w.]*(?:error|exception):)",
    re.IGNORECASE,
)
_CODE = r"\[?(?:(?:process |command )?exited with code|exit code)(?:: ?| )(-?\d{1,9})\]?[ \t\r]*$"
# An exit code on a line of its own, as command-line tools write it: as the first line, or after the fields
# that Codex writes above the output of a command.
_FIRST_CODE = re.compile(
    r"\s*(?:(?:Chunk ID|Wall time): .*\n)*" + _CODE,
    re.IGNORECASE | re.MULTILINE,
)
# As the last line, or before the fields that Gemini CLI writes below the output.
_LAST_CODE = re.compile(
    rf"^{_CODE}"
    r"(?:\n(?:(?:Error|Signal|Background PIDs|Process Group PGID): .*|</untrusted_context>|[ \t]*))*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT_FAILURE = ("error", "success")  # a word of a result that may be an object with a failure
_NO_ERROR = ("", "none", "null", "false", "n/a", "no error", "no errors")
_TAIL_CHARS = 2_000  # of a result, in which its last exit code is searched
CUT = " … [cut by the sender]"  # at the end of a text, or of what comes before one
# Types of the blocks of an answer that some senders write as JSON into its text.
_NESTED = frozenset(("text", "thinking", "redacted_thinking", "reasoning", "tool_use", "tool_call"))
_UNTYPED_CALL = frozenset(("id", "name", "arguments"))  # fields of a call of AutoGen, which has no type
_CANCELLED = "[Operation Cancelled]"  # Gemini CLI writes it into the error of a cancelled tool


def tool_failed(text: str) -> bool:
    """Return whether the text of a tool's result says that the tool failed.

    The output of a tool may have the same words. They count only at the places and in the forms in which
    command-line tools, shells and languages write them, and as fields of an object that is the whole result.
    """
    if _EXCEPTION.match(text) or _has_error(text):
        return True
    code = _FIRST_CODE.match(text) or _LAST_CODE.search(text[-_TAIL_CHARS:])
    return code is not None and int(code[1]) != 0


def _has_error(text: str) -> bool:
    """Return whether a result is an object that has an error; a number may be that of errors found."""
    if text[:1] != "{" or not any(word in text for word in _ABOUT_FAILURE):
        return False
    result = decoded_object(text)
    error, success = result.get("error"), result.get("success")
    if isinstance(success, bool):
        return not success
    if isinstance(error, dict | list):
        has_error = any(error.values() if isinstance(error, dict) else error)
    else:
        has_error = error is True or (isinstance(error, str) and error.strip().lower() not in _NO_ERROR)
    return has_error or result.get("status") == "error"


def text_of_result(value: Json) -> str:
    """Return the result of a tool as text."""
    text, value = value, decoded(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        parts = [part for part in value if isinstance(part, dict) and ("text" in part or "json" in part)]
        if len(parts) == len(value):  # those with JSON are of Bedrock
            return "\n".join(
                str(part["text"]) if "text" in part else json.dumps(part["json"], ensure_ascii=False)
                for part in parts
            )
    if isinstance(value, dict):
        value = message_in(value)
        inner = first_of(value, "content", "output", "result", "response", "resultDisplay")
        if isinstance(inner, str):
            return inner
        if isinstance(inner, list) and inner and all(isinstance(each, dict) for each in inner):
            texts = [each.get("text") for each in inner if isinstance(each, dict)]
            if all(isinstance(text, str) for text in texts):
                return "\n".join(map(str, texts))
    if isinstance(text, str) and as_json(text):
        return text
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def message_in(result: Fields) -> Fields:
    """Return the fields of the message that a result is, such as LangChain's ToolMessage; else the result."""
    for name in ("output", "data", "kwargs"):
        inner = object_field(result, name)
        if name == "output" and ("kwargs" in inner or "tool_call_id" in inner):  # traceloop's, LangSmith's
            return message_in(inner) if "kwargs" in inner else inner
        if name != "output" and "content" in inner:
            return inner
    return result


def says_failed(message: Fields) -> bool | None:
    """Return whether a message with the result of a tool states a failure; None if it does not say."""
    stated = message.get("is_error", message.get("isError"))
    if isinstance(stated, bool):
        return stated
    is_message = "content" in message or "tool_call_id" in message
    return True if is_message and message.get("status") == "error" else None


def blocks_of(message: Fields) -> list[Fields]:
    """Return the blocks of a message, tool results as blocks of type `result`."""
    found: list[Fields] = []
    if is_item(message):
        return [block for part in parts_of(message) if (block := _block(part)) is not None]
    reasoning = first_of(message, "reasoning_content", "reasoning", "reasoning_details", "thinking")
    if isinstance(reasoning, str | list) and reasoning:
        found.append(_thinking({"thinking": reasoning}))
    content = first_of(message, "parts", "content", "contents", "text")
    if isinstance(content, dict):
        content = _plain(first_of(content, "parts", "text") or content)
    if isinstance(content, str) and (nested := _nested(content)):
        content = nested
    if isinstance(content, str):
        found.append({"type": "text", "text": text_without_bytes(content)})
    elif isinstance(content, dict):
        found.append({"type": "text", "text": text_of_result(content)})
    elif isinstance(content, list):
        parts = [each for part in content for each in _nested_in(part) or parts_of(part)]
        found += [found_block for part in parts if (found_block := _block(part)) is not None]
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        found.append({"type": "text", "text": refusal})
    known = {block.get("id") for block in found if block["type"] == "toolCall"}
    return found + [block for block in _calls_beside(message) if block["id"] not in known]


def _calls_beside(message: Fields) -> list[Fields]:
    """Return the calls that a message has beside its content; OpenAI's API had one before `tool_calls`."""
    calls = first_of(message, "tool_calls", "toolCalls")
    found = [call_block(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    function = message.get("function_call")
    if not found and isinstance(message.get("function"), dict):  # rig's, which has no message around it
        return [call_block(message)]
    return found + ([call_block(function)] if isinstance(function, dict) and not found else [])


def _nested_in(part: Json) -> list[Json]:
    """Return the blocks that the text of a part is in JSON; none for another part."""
    if not isinstance(part, dict) or part.get("type", "text") not in ("text", "output_text"):
        return []
    text = first_of(part, "text", "content")
    return _nested(text) if isinstance(text, str) else []


def _nested(text: str) -> list[Json]:
    """Return the blocks that a text is in JSON; none for a text that is JSON of another kind."""
    has_type = text.startswith("[") and ('"type"' in text[:200] or "'type'" in text[:200])
    value = decoded(text) if has_type else None
    blocks = value if isinstance(value, list) else []
    return blocks if all(_is_nested(each) for each in blocks) else []


def _is_nested(block: Json) -> bool:
    return isinstance(block, dict) and str(block.get("type")) in _NESTED and len(block) > 1


def _block(part: Json) -> Fields | None:  # noqa: C901, PLR0911, PLR0912  one arm a form of part
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return None
    kind = kind_of_part(part)
    if (block := _bedrock_block(part)) is not None:
        return block
    if isinstance(call := first_of(part, "functionCall", "function_call"), dict):
        return call_block(call)
    if isinstance(answer := first_of(part, "functionResponse", "function_response"), dict):
        return _response_block(answer)
    if not kind and part.keys() >= _UNTYPED_CALL:
        return call_block(part)
    if kind in CALLS:
        return call_block(part)
    if kind in RESULTS:
        inner = first_of(part, "result", "response", "output", "content")
        if isinstance(inner, dict) and inner.keys() == {"type", "value"}:  # the AI SDK's
            stated: Fields = {"is_error": True} if str(inner["type"]).startswith("error") else {}
            inner, part = inner["value"], stated | part
        if (stated_inside := says_failed(decoded_object(inner))) is not None and says_failed(part) is None:
            part = part | {"is_error": stated_inside}
        call_id = str(
            first_of(part, "id", "tool_use_id", "toolCallId", "tool_call_id", "call_id", "callId") or ""
        )
        return result_block(
            call_id, str(first_of(part, "name", "toolName") or ""), text_of_result(inner), part
        )
    if kind in ("thinking", "reasoning", "redacted_thinking") or part.get("thought") is True:
        return _thinking(part)
    if (media := media_text(part)) is not None:
        return {"type": "text", "text": media}
    text = _plain(first_of(part, "text", "content", "refusal", "Text"))
    if isinstance(text, str):
        return {"type": "text", "text": text_without_bytes(text)}
    is_empty = "" in (part.get("text"), part.get("content"))  # Gemini CLI writes it as type `unknown`
    if text is None and (is_empty or kind in ("output_text", "input_text", "text", "")):
        return None
    return {"type": "text", "text": CUT.strip() if kind.endswith(CUT) else f"[{kind or 'content'}]"}


def _plain(text: Json) -> Json:
    """Return a text, also one of OpenAI's Assistants API, which is an object with its annotations."""
    inner = text.get("value") if isinstance(text, dict) else None
    return inner if isinstance(inner, str) else text


def response_text(answer: Fields) -> str:
    """Return the text of a `functionResponse` of Gemini's API: its error, else what the tool returned."""
    response = answer.get("response")
    error = response.get("error") if isinstance(response, dict) else None
    return text_of_result(error or response or None)


def response_error(answer: Fields) -> str:
    """Return the error in a `functionResponse` of Gemini's API; "" without one, or if it was cancelled."""
    error = text_of_result(object_field(answer, "response").get("error") or None)
    return "" if error.startswith(_CANCELLED) else error


def _response_block(answer: Fields) -> Fields:
    text, error = response_text(answer), response_error(answer)
    call_id, name = str(answer.get("id") or ""), str(answer.get("name") or "")
    stated: Fields = {"is_error": bool(error)} if error or text.startswith(_CANCELLED) else answer
    return result_block(call_id, name, text, stated)


def _bedrock_block(part: Fields) -> Fields | None:
    """Return a block of Bedrock's Converse API, which strands-agents writes; None for another one."""
    if isinstance(use := part.get("toolUse"), dict):
        is_hosted: Fields = {HOSTED: True} if use.get("type") == "server_tool_use" else {}
        about: Fields = {"id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
        return call_block(about | is_hosted)
    if isinstance(answer := part.get("toolResult"), dict):
        stated: Fields = {"is_error": answer["status"] == "error"} if "status" in answer else {}
        return result_block(
            str(answer.get("toolUseId") or ""), "", text_of_result(answer.get("content")), stated
        )
    if isinstance(reasoning := part.get("reasoningContent"), dict):
        inner = reasoning.get("reasoningText")
        return _thinking(inner if isinstance(inner, dict) else {})
    return None


def is_block_list(value: Json) -> bool:
    """Return whether a value is a list of blocks, and not text that is JSON by chance."""
    known = {"text", "type", "toolUse", "toolResult", "reasoningContent", "image", "document", "cachePoint"}
    known |= {"video", "audio", "functionCall", "functionResponse", "inlineData", "guardContent"}
    known |= {"function_call", "function_response", "inline_data"}
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and known & each.keys() for each in value)
    )


def _thinking(part: Fields) -> Fields:
    text = first_of(part, "thinking", "reasoning", "content", "text", "summary")
    if isinstance(text, list):
        text = "\n".join(str(first_of(each, "text") or "") for each in text if isinstance(each, dict))
    return {"type": "thinking", "thinking": text if isinstance(text, str) else ""}


def call_block(part: Fields) -> Fields:
    """Return the block of a tool call; one that the provider ran has the mark `HOSTED`."""
    inner = part.get("function")
    function = inner if isinstance(inner, dict) else part
    arguments = first_of(function, "arguments", "args", "input", "action", "operation")
    name = str(first_of(function, "name", "toolName") or str(part.get("type") or "").rpartition("_call")[0])
    found: Fields = {
        "type": "toolCall",
        "id": str(first_of(part, "call_id", "callId", "toolCallId", "tool_call_id", "id") or ""),
        "name": name,
        "arguments": decoded_arguments(arguments if arguments is not None else {}),
    }
    return found | ({HOSTED: True} if part.get(HOSTED) is True else {})


def result_block(call_id: str, name: str, text: str, source: Fields) -> Fields:
    stated = says_failed(source)
    if stated is None and (stated := says_failed(decoded_object(text))) is not None:
        text = text_of_result(text)
    found: Fields = {
        "type": "result",
        "toolCallId": call_id,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": tool_failed(text) if stated is None else stated,
    }
    return found | ({"byWords": True} if stated is None and found["isError"] else {})


def plain_text(content: Json) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))
