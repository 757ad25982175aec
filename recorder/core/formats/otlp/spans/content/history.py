"""Fingerprints by which two model calls are known to be of one conversation, although nothing names it.

A call that is sent the result of a tool call repeats what came before: the first message of the user, and the
answer that asked for the call, with its arguments.
"""

from __future__ import annotations

import hashlib
import json

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import decoded_arguments
from recorder.core.formats.otlp.spans.content.call_messages import Messages
from recorder.core.formats.otlp.spans.content.tools import named_arguments, plain_name
from recorder.core.records import Json


def opening_of(messages: Messages) -> str:
    """Return the fingerprint of the first message of the user; "" without one."""
    first = next((message for message in messages.input if message["role"] == "user"), None)
    return fingerprint(first["content"]) if first is not None else ""


def asks_of(messages: Messages) -> list[str]:
    """Return the fingerprint of name and arguments of each tool call of the answer, in order."""
    return [_ask(block) for block in messages.output if block["type"] == "toolCall"]


def asks_of_tool(name: str, arguments: Json) -> list[str]:
    """Return what `asks_of` may give the call that a tool ran, under its name and as a model may write that.

    A tool that reports no arguments has none.
    """
    if arguments in (None, ""):
        return []
    read = named_arguments(decoded_arguments(arguments))
    return [fingerprint([each, read]) for each in dict.fromkeys((name, plain_name(name)))]


def answers_of(messages: Messages) -> list[str]:
    """Return for each result among the new input the fingerprint of its call; "" if that is not sent."""
    calls: dict[str, str] = {}
    for message in messages.input:
        content = message["content"] if message["role"] == "assistant" else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "toolCall":
                calls[str(block["id"])] = _ask(block)
    return [calls.get(str(result["toolCallId"]), "") for result in messages.results]


def answer_of(messages: Messages) -> str:
    """Return the fingerprint of the texts and the calls of an answer; "" for an empty one."""
    texts = [block["text"] for block in messages.output if block["type"] == "text"]
    text = "".join("".join(map(str, texts)).split())
    calls = sorted(asks_of(messages))
    return fingerprint([text, *calls]) if text or calls else ""


def fingerprint(value: Json) -> str:
    """Return a short hash of a value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=6).hexdigest()


def _ask(block: Fields) -> str:
    return fingerprint([block["name"], block["arguments"]])
