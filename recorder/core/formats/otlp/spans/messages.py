"""The forms of messages of a model call, read into the messages of native events.

Messages are JSON texts, flattened attributes (OpenInference), span events (GenAI until 1.36) or fields of one
vendor. Roles are `user`, `assistant`, `toolResult` and `system`; contents are blocks as in native events.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from recorder.core.formats.base import Fields, parse_arguments
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded, decoded_list, decoded_object, integer
from recorder.core.records import Json

_INDEXED = re.compile(r"(llm\.(?:input|output)_messages|gen_ai\.(?:prompt|completion))\.(\d{1,6})\.(.+)")
_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "toolResult",
    "function": "toolResult",
}
_ERROR = re.compile(r"\s*(?:[\w.]*error|exception|traceback)\b", re.IGNORECASE)
_EXIT_CODE = re.compile(r"exit(?:ed with)?(?: code)?:? (\d+)", re.IGNORECASE)


@dataclass(slots=True)
class Messages:
    """The messages of a model call: its system prompt, all input, and the answer's blocks."""

    system: str = ""
    input: list[Fields] = field(default_factory=list)
    output: list[Fields] = field(default_factory=list)  # content blocks of the answer

    @property
    def new(self) -> list[Fields]:
        """Return the input after the last answer: what this call was sent and the one before it was not."""
        for place in range(len(self.input) - 1, -1, -1):
            if self.input[place]["role"] == "assistant":
                return self.input[place + 1 :]
        return self.input

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Return id and name of each tool call of the answer."""
        return [
            (str(block["id"]), str(block["name"])) for block in self.output if block["type"] == "toolCall"
        ]

    @property
    def results(self) -> list[Fields]:
        """Return the tool results among the new input."""
        return [message for message in self.new if message["role"] == "toolResult"]


def messages_of(attributes: Fields, events: list[tuple[str, Fields]]) -> Messages:
    """Return the messages that the attributes and events of a span hold, in whichever form."""
    found = Messages(system=_system(attributes))
    texts = [decoded_list(attributes.get(name)) for name in names.INPUT_MESSAGES]
    found.input = _inputs(next((each for each in texts if each), []), found)
    outputs = [decoded_list(attributes.get(name)) for name in names.OUTPUT_MESSAGES]
    for message in next((each for each in outputs if each), []):
        found.output += _blocks_of_answer(message)
    if not found.input and not found.output:
        _read_indexed(attributes, found)
    if not found.output:
        found.output = _vendor_answer(attributes)
    if not found.input and not found.output:
        _read_events(attributes, events, found)
    return found


def tool_failed(text: str) -> bool:
    """Return whether the text of a tool's result says that the tool failed."""
    if _ERROR.match(text):
        return True
    codes = _EXIT_CODE.search(text)
    return codes is not None and codes[1] != "0"


def text_of_result(value: Json) -> str:
    """Return the result of a tool as text."""
    value = decoded(value) if isinstance(value, str) and value[:1] in "{[" else value
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return "\n".join(str(part["text"]) for part in value)  # type: ignore[index,call-overload]
    if isinstance(value, dict):
        inner = _first(value, "content", "output", "result", "response", "resultDisplay")
        data = value.get("data")
        if inner is None and isinstance(data, dict):
            inner = data.get("content")  # LangChain's ToolMessage
        if isinstance(inner, str):
            return inner
        if isinstance(inner, list) and inner and all(isinstance(each, dict) for each in inner):
            texts = [each.get("text") for each in inner if isinstance(each, dict)]
            if all(isinstance(text, str) for text in texts):
                return "\n".join(map(str, texts))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _first(fields: Fields, *keys: str) -> Json:
    return next((fields[key] for key in keys if fields.get(key) not in (None, "")), None)


def _system(attributes: Fields) -> str:
    value = decoded(attributes.get(names.SYSTEM_TEXT[0]))
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "\n".join(str(_first(each, "content", "text") or "") for each in parts if isinstance(each, dict))


def _inputs(values: list[Json], found: Messages) -> list[Fields]:
    """Return the input messages; system messages are added to the system prompt."""
    read: list[Fields] = []
    for value in values:
        for message in _messages(value):
            if message["role"] == "system":
                found.system = found.system or _plain_text(message["content"])
            else:
                read.append(message)
    return read


def _messages(value: Json) -> list[Fields]:
    """Return the native messages of one message; one with several tool results gives several."""
    if not isinstance(value, dict):
        return []
    if "role" not in value and value.get("type") in ("function_call", "function_call_output", "reasoning"):
        return _response_item(value)
    role = _ROLES.get(str(value.get("role") or value.get("type")), "user")
    parts = _parts(value)
    results = [part for part in parts if part["type"] == "result"]
    rest = [part for part in parts if part["type"] != "result"]
    if role == "toolResult" and not results:
        text = _plain_text(list(rest))
        results = [_result(str(_first(value, "tool_call_id", "toolCallId", "id") or ""), "", text, value)]
        rest = []
    found: list[Fields] = [{"role": "toolResult", **{k: v for k, v in each.items() if k != "type"}}
                           for each in results]  # fmt: skip
    if rest or (not results and role != "toolResult"):
        found.append({"role": role, "content": list(rest)})
    return found


def _response_item(value: Fields) -> list[Fields]:
    """Return the message of an item of OpenAI's Responses API."""
    if value["type"] == "function_call_output":
        call_id, text = str(value.get("call_id") or ""), text_of_result(value.get("output"))
        result = _result(call_id, "", text, value)
        return [{"role": "toolResult", **{k: v for k, v in result.items() if k != "type"}}]
    return [{"role": "assistant", "content": list(_parts(value))}]


def _parts(message: Fields) -> list[Fields]:
    """Return the blocks of a message, tool results as blocks of type `result`."""
    found: list[Fields] = []
    if message.get("type") == "function_call":
        return [_call(message)]
    if message.get("type") == "reasoning":
        return [_thinking(message)]
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        found.append({"type": "thinking", "thinking": reasoning})
    content = _first(message, "parts", "content", "contents")
    if isinstance(content, str):
        found.append({"type": "text", "text": content})
    elif isinstance(content, dict):
        found.append({"type": "text", "text": text_of_result(content)})
    elif isinstance(content, list):
        found += [found_block for part in content if (found_block := _block(part)) is not None]
    calls = message.get("tool_calls")
    known = {block.get("id") for block in found if block["type"] == "toolCall"}
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and (block := _call(call))["id"] not in known:
            found.append(block)
    return found


def _block(part: Json) -> Fields | None:  # noqa: PLR0911  one arm a form of part
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return None
    kind = str(part.get("type") or "")
    if isinstance(call := part.get("functionCall"), dict):
        return _call(call)
    if isinstance(answer := part.get("functionResponse"), dict):
        return _result(str(answer.get("id") or ""), str(answer.get("name") or ""),
                       text_of_result(answer.get("response")), answer)  # fmt: skip
    if kind in ("tool_call", "tool-call", "tool_use", "function_call", "function"):
        return _call(part)
    if kind in ("tool_call_response", "tool-result", "tool_result", "function_call_output"):
        inner = _first(part, "result", "response", "output", "content")
        call_id = str(_first(part, "id", "tool_use_id", "toolCallId", "tool_call_id", "call_id") or "")
        return _result(call_id, str(_first(part, "name", "toolName") or ""), text_of_result(inner), part)
    if kind in ("thinking", "reasoning", "redacted_thinking") or part.get("thought") is True:
        return _thinking(part)
    text = _first(part, "text", "content")
    if isinstance(text, str):
        return {"type": "text", "text": text}
    if kind in ("output_text", "input_text", "text", "") and text is None:
        return None
    return {"type": "text", "text": f"[{kind or 'content'}]"}


def _thinking(part: Fields) -> Fields:
    text = _first(part, "thinking", "reasoning", "content", "text", "summary")
    if isinstance(text, list):
        text = "\n".join(str(_first(each, "text") or "") for each in text if isinstance(each, dict))
    return {"type": "thinking", "thinking": text if isinstance(text, str) else ""}


def _call(part: Fields) -> Fields:
    inner = part.get("function")
    function = inner if isinstance(inner, dict) else part
    arguments = _first(function, "arguments", "args", "input")
    return {
        "type": "toolCall",
        "id": str(_first(part, "call_id", "toolCallId", "tool_call_id", "id") or ""),
        "name": str(_first(function, "name", "toolName") or ""),
        "arguments": parse_arguments(arguments if arguments is not None else {}),
    }


def _result(call_id: str, name: str, text: str, source: Fields) -> Fields:
    stated = source.get("is_error", source.get("isError"))
    failed = stated if isinstance(stated, bool) else tool_failed(text)
    return {
        "type": "result",
        "toolCallId": call_id,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": failed,
    }


def _plain_text(content: Json) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))


def _blocks_of_answer(message: Json) -> list[Fields]:
    return (
        [block for block in _parts(message) if block["type"] != "result"] if isinstance(message, dict) else []
    )


def _read_indexed(attributes: Fields, found: Messages) -> None:
    """Read `llm.input_messages.N.message.…` and `gen_ai.prompt.N.…`; N may start at 1 and have gaps."""
    groups: dict[tuple[bool, int], Fields] = {}
    for name, value in attributes.items():
        if match := _INDEXED.fullmatch(name):
            is_input = match[1] in ("llm.input_messages", "gen_ai.prompt")
            path = match[3].removeprefix("message.").split(".")
            _put(groups.setdefault((is_input, int(match[2])), {}), path, value)
    for is_input, number in sorted(groups):
        message = _unflattened(groups[is_input, number])
        if is_input:
            found.input += _inputs([message], found)
        else:
            found.output += _blocks_of_answer(message)


def _put(target: Fields, path: list[str], value: Json) -> None:
    for name in path[:-1]:
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[path[-1]] = value


def _unflattened(message: Fields) -> Fields:
    """Return a flattened message with lists in place of objects keyed by numbers."""
    calls = []
    for call in _numbered(message.get("tool_calls")):
        inner = call.get("tool_call")
        calls.append(inner if isinstance(inner, dict) else call)
    found: Fields = {k: v for k, v in message.items() if k not in ("tool_calls", "contents")}
    parts: list[Json] = []
    for part in _numbered(message.get("contents")):
        inner = part.get("message_content")
        block = inner if isinstance(inner, dict) else part
        if block.get("type") not in ("tool_use", "tool_call"):  # the same call stands in `tool_calls`
            parts.append(block)
    if parts:
        found["content"] = parts
    return found | {"tool_calls": [_with_function(call) for call in calls]}


def _with_function(call: Fields) -> Json:
    function = call.get("function")
    return call if isinstance(function, dict) else {"id": call.get("id"), **call}


def _numbered(value: Json) -> list[Fields]:
    if not isinstance(value, dict):
        return []
    keyed = [(integer(key), each) for key, each in value.items() if isinstance(each, dict)]
    return [
        each for _, each in sorted((pair for pair in keyed if pair[0] is not None), key=lambda p: p[0] or 0)
    ]


def _vendor_answer(attributes: Fields) -> list[Fields]:
    """Return the answer as the Vercel AI SDK and logfire for openai-agents write it."""
    found: list[Fields] = []
    for name, kind in (("ai.response.reasoning", "thinking"), ("ai.response.text", "text")):
        text = attributes.get(name)
        if isinstance(text, str) and text:
            found.append({"type": kind, kind: text})
    found += [_call(each) for each in decoded_list(attributes.get("ai.response.toolCalls"))
              if isinstance(each, dict)]  # fmt: skip
    if not found and isinstance(text := attributes.get("ai.response.object"), str):
        found.append({"type": "text", "text": text})
    for item in _list(decoded_object(attributes.get("response")).get("output")):
        found += _blocks_of_answer(item)
    return found


def _read_events(attributes: Fields, events: list[tuple[str, Fields]], found: Messages) -> None:
    """Read one event a message: span events of GenAI until 1.36, or logfire's JSON list of them."""
    listed = [(str(each.get("event.name")), each) for each in decoded_list(attributes.get("events"))
              if isinstance(each, dict)]  # fmt: skip
    for name, fields in listed or events:
        if name == "gen_ai.choice":
            message = fields.get("message")
            found.output += _blocks_of_answer(decoded_object(message) if message else fields)
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            role = name.split(".")[1]
            found.input += _inputs([{"role": role, **fields}], found)
    if listed and not found.output:  # logfire ends the list with the answer
        while found.input and found.input[-1]["role"] == "assistant":
            found.output = [*_list(found.input.pop()["content"]), *found.output]  # type: ignore[list-item]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
