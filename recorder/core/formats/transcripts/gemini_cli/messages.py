"""Messages of Gemini CLI's chats: blocks of an answer, usage, results of calls, and who wrote one."""

from __future__ import annotations

import re

from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.fields import call_block, is_context, objects, plain, text_of, thinking
from recorder.core.formats.transcripts.token_counts import counts
from recorder.core.records import Json

_USAGE = {"input": "input", "output": "output", "cache_read": "cached", "reasoning": "thoughts"}
_SHELL = "run_shell_command"
# The line that follows the output of a command; a command may print the same words, but not at this place.
_EXIT_CODE = re.compile(
    r"^Exit Code: (\d+)\n(?:(?:Error|Signal|Background PIDs|Process Group PGID): .*\n)*"
    r"(?:Process Group PGID: .*|</untrusted_context>)?\s*\Z",
    re.MULTILINE,
)
# Begin messages that the program adds to the history for the next prompt, such as a command of the user.
_ADDED = (
    "Here is the user's editor context",
    "Here is a summary of changes in the user's editor context",
    "- **Workspace Directories:**",
    "I ran the following shell command:\n```",
)
_CONTINUE = "Please continue."  # to a model that stopped early; the prompt is its `displayContent` then
_FEEDBACK = (f"System: {_CONTINUE}", "System: Potential loop detected.")


def is_added(text: str) -> bool:
    """Return whether the program wrote a message of the user, which asks for no answer."""
    return is_context(text) or text.lstrip().startswith(_ADDED)


def is_feedback(text: str, line: Fields) -> bool:
    """Return whether the program wrote a message of the user by which the answer to a prompt goes on."""
    return text.startswith(_FEEDBACK) or (text == _CONTINUE and bool(line.get("displayContent")))


def blocks_of(line: Fields, calls: list[Fields]) -> list[Fields]:
    """Return the blocks of an answer."""
    found = [
        block
        for thought in objects(line.get("thoughts"))
        for block in thinking(thought.get("description") or thought.get("subject"))
    ]
    found += plain(text_of(line.get("content")))
    return found + call_blocks(calls)


def call_blocks(calls: list[Fields]) -> list[Fields]:
    return [call_block(each.get("id"), each.get("name"), each.get("args")) for each in calls]


def usage_of(tokens: Fields) -> dict[str, int]:
    """Return the token counts of an answer; its output includes the thoughts."""
    found = counts(tokens, _USAGE, includes_cache=True)
    found["input"] += counts(tokens, {"n": "tool"})["n"]  # beside the prompt
    return found | {"output": found["output"] + found["reasoning"]}


def has_failed(call: Fields, text: str) -> bool:
    """Return whether a call failed: as its status says, or for a command by the exit code."""
    is_shell = text_field(call, "name") == _SHELL
    return text_field(call, "status") == "error" or (is_shell and _exit_code_failed(text))


def _exit_code_failed(text: str) -> bool:
    match = _EXIT_CODE.search(f"{text}\n")
    return match is not None and match[1].strip("0") != ""


def result_text(call: Fields) -> str:
    """Return the result of a call as text."""
    for part in objects(call.get("result")):
        response = object_field(object_field(part, "functionResponse"), "response")
        for name in ("output", "error", "content"):
            if isinstance(found := response.get(name), str):
                return found
    display: Json = call.get("resultDisplay")
    return display if isinstance(display, str) else ""
