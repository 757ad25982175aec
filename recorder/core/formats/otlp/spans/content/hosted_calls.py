"""Tool calls that the provider ran, such as web searches: call and result are parts of one answer.

Each provider has types of its own. They are brought into the parts of any other tool call and its result; of
a call that an answer says nothing more about the result is empty.
"""

from __future__ import annotations

import re

from recorder.core.formats.base import Fields, object_field
from recorder.core.records import Json

HOSTED = "hosted"  # of a part or block of a call: the provider ran it
# Types of Anthropic, LangChain and GenAI end with `tool_use` or `tool_call`, of OpenAI's API with `_call`.
_CALL = re.compile(r"(?:(.+?)_)?(?:tool_(?:use|call)|call)")
_RESULT = re.compile(r".*tool_(?:call_)?(?:result|response|output|return)")
CALLS = frozenset((  # types of calls that the program runs,
    *("tool_call", "tool-call", "tool_use", "function_call", "function", "custom_tool_call"),
    *("local_shell_call", "computer_call", "shell_call", "apply_patch_call"),
))  # fmt: skip
RESULTS = frozenset((  # and of their results
    *("tool_call_response", "tool-result", "tool_result", "function_call_output", "custom_tool_call_output"),
    *("function_result", "local_shell_call_output"),
    *("computer_call_output", "shell_call_output", "apply_patch_call_output"),
))  # fmt: skip
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_KIND_CHARS = 100  # of a type
_ITEMS = ("reasoning", "function_call", "custom_tool_call")
_MARKS = ("providerExecuted", "provider_executed", "builtin")  # of the Vercel AI SDK, pydantic-ai
_FAILED = frozenset(("failed", "error", "incomplete"))
_IDS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "callId", "id")
_ARGUMENTS = ("arguments", "args", "input", "action")
_OUTPUTS = ("output", "outputs", "content", "results", "result", "response", "error")
_ABOUT = ("type", "id", "name", "status", "call_id", *_OUTPUTS)  # fields of a call that are no arguments


def kind_of_part(part: Fields) -> str:
    """Return the type of a part; some write it as `toolCall`, or as `$type`."""
    kind = str(part.get("type") or part.get("$type") or "")[: _KIND_CHARS + 1]
    return kind if kind.islower() else _CAMEL.sub("_", kind).lower()


def is_item(value: Fields) -> bool:
    """Return whether an object is an item of OpenAI's Responses API, which stands beside messages."""
    kind = str(value.get("type"))
    is_call = kind.endswith(("_call", "_call_output")) and not kind.endswith("tool_call")
    return "role" not in value and (is_call or kind in _ITEMS)


def without_mark(block: Fields) -> Fields:
    """Return a block as it stands in events."""
    return {name: value for name, value in block.items() if name != HOSTED} if HOSTED in block else block


def parts_of(part: Json) -> list[Json]:
    """Return a part, or the call and the result that it is in a provider's form."""
    if not isinstance(part, dict):
        return [part]
    kind = kind_of_part(part)
    if (found := _of_gemini(part)) is not None:
        return [found]
    if any(part.get(mark) is True for mark in _MARKS):
        return [part | {HOSTED: True}]
    if kind in CALLS or kind in RESULTS or len(kind) > _KIND_CHARS:
        return [part]
    if _RESULT.fullmatch(kind):
        return [_result_of(part, kind)]
    match = _CALL.fullmatch(kind)
    return _call_of(part, kind, (match[1] or "").removesuffix("server").strip("_")) if match else [part]


def _of_gemini(part: Fields) -> Json:
    code = object_field(part, "executableCode") or object_field(part, "executable_code")
    if code:
        return _call("", "code_execution", code)
    result = object_field(part, "codeExecutionResult") or object_field(part, "code_execution_result")
    if not result:
        return None
    outcome = str(result.get("outcome") or "OK").rpartition("OUTCOME_")[2]
    return _result("", result.get("output"), failed=outcome != "OK")


def _call_of(part: Fields, kind: str, name: str) -> list[Json]:
    """Return a call, and its result if the same part has it."""
    inner = object_field(part, kind)  # GenAI's have the name of the type
    call_id, named = _id_of(part), str(part.get("name") or name or inner.get("type") or "tool")
    rest: Fields = {key: value for key, value in (inner or part).items() if key not in _ABOUT and value}
    arguments = first_of(inner or part, *_ARGUMENTS)
    call = _call(call_id, named, rest if arguments is None else arguments)
    output = None if inner else first_of(part, *_OUTPUTS)
    has_failed = part.get("status") in _FAILED or bool(part.get("error"))
    if output is None and not has_failed:
        return [call]
    if kind.startswith("image") and isinstance(output, str):
        output = f"[image, {len(output) / 1000:.0f} kB]"
    return [call, _result(call_id, output, failed=has_failed)]


def _result_of(part: Fields, kind: str) -> Json:
    found = first_of(part, kind, *_OUTPUTS)
    about = found if isinstance(found, dict) else {}
    stated = part.get("is_error", part.get("isError"))
    if not isinstance(stated, bool):
        is_error = str(about.get("type")).endswith("_error") or part.get("status") in _FAILED
        stated = is_error or about.get("return_code", 0) not in (0, None)
    return _result(_id_of(part), found, failed=stated)


def _call(call_id: str, name: str, arguments: Json) -> Fields:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments, HOSTED: True}


def _result(call_id: str, value: Json, *, failed: bool) -> Fields:
    return {"type": "tool_result", "id": call_id, "result": value, "is_error": failed}


def _id_of(part: Fields) -> str:
    return next((found for key in _IDS if isinstance(found := part.get(key), str) and found), "")


def first_of(fields: Fields, *keys: str) -> Json:
    """Return the first of some fields that has a value."""
    return next((fields[key] for key in keys if fields.get(key) not in (None, "")), None)
