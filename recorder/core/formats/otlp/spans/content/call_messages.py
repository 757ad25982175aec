"""The messages of one model call: what it was sent, and its answer with the calls that the provider ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.content.blocks import blocks_of, plain_text, result_block
from recorder.core.formats.otlp.spans.content.hosted_calls import HOSTED, without_mark
from recorder.core.records import Json

_TOOL_ROLES = ("tool", "function")
_THOUGHT_ROLES = ("thinking", "reasoning")  # traceloop writes thoughts as a message


@dataclass(slots=True)
class Messages:
    """The messages of a model call: its system prompt, all input, and the answer's blocks."""

    system: str = ""
    input: list[Fields] = field(default_factory=list)
    output: list[Fields] = field(default_factory=list)  # content blocks of the answer
    # Results that stand in the answer itself, by the place of their call in `calls`; {} for one without.
    hosted: dict[int, Fields] = field(default_factory=dict)
    is_whole: bool = False  # read of attributes with a whole request or response, or plain texts
    finish: str = ""  # why the answer ended, if the message says it
    _places: dict[str, int] = field(default_factory=dict)  # of the calls of the answer, by id; "": the last

    def add_answer(self, message: Json) -> None:
        """Add a message to the answer."""
        self.add_blocks(blocks_of_answer(message))
        if isinstance(message, dict) and isinstance(reason := message.get("finish_reason"), str):
            self.finish = self.finish or reason

    def add_blocks(self, blocks: Iterable[Fields]) -> None:
        """Add blocks to the answer; a result without an id is that of the last call."""
        for block in blocks:
            if block["type"] == "result":
                if (place := self._places.get(str(block["toolCallId"]))) is not None:
                    self.hosted[place] = block
                continue
            self.output.append(without_mark(block))
            if block["type"] == "toolCall":
                place = self._places.get("", -1) + 1
                self._places |= {str(block["id"]): place, "": place}
                if HOSTED in block:
                    self.hosted[place] = {}

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


def joined(parts: Iterable[Messages]) -> Messages:
    """Return the messages of a call of which each part has some, in order."""
    found = Messages()
    for part in parts:
        found.system = found.system or part.system
        found.input += part.input
        before = len(found.calls) if part.hosted else 0
        found.hosted |= {before + place: result for place, result in part.hosted.items()}
        found.output += part.output
        found.finish = found.finish or part.finish
    return found


def blocks_of_answer(message: Json) -> list[Fields]:
    """Return the blocks of a message of an answer, also of one with the result of a tool call."""
    if not isinstance(message, dict):
        return []
    if message.get("object") == "response":  # of OpenAI's Responses API
        items = message.get("output")
        return [
            block for item in (items if isinstance(items, list) else ()) for block in blocks_of_answer(item)
        ]
    blocks = blocks_of(message)
    if message.get("role") in _THOUGHT_ROLES:
        return [{"type": "thinking", "thinking": plain_text(list(blocks))}]
    if message.get("role") not in _TOOL_ROLES or any(block["type"] == "result" for block in blocks):
        return blocks
    call_id = next(
        (str(message[key]) for key in ("tool_call_id", "toolCallId", "id") if message.get(key)), ""
    )
    return [result_block(call_id, "", plain_text(list(blocks)), message)]
