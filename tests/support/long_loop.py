"""A long loop in phi-core's form: every request repeats all messages with another order of keys."""

import json
import random

CONFIG = "anthropic.claude-sonnet-4-6"
ABOUT = {"model": "claude-sonnet-4-6", "provider": "anthropic", "role": "assistant", "stopReason": "toolUse"}
USAGE = {"cache_read": 0, "cache_write": 0, "input": 900, "output": 150, "reasoning": 0, "total_tokens": 1050}
TOOLS = [
    {"name": name, "description": f"Runs {name} in the project and reports the outcome", "parameters": {}}
    for name in ("bash", "edit", "grep", "read_file")
]  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class LongLoop:
    """The lines of one loop. `deltas` is the number of updates of each streamed answer."""

    def __init__(self, turns=200, deltas=0, seed=1, session="long"):
        self.turns, self.deltas = turns, deltas
        self.session = session
        self.chance = random.Random(seed)
        self.messages = []

    def lines(self):
        yield self._line(
            "AgentStart", agent_id="a", session_id=self.session, continuation_kind="Initial", timestamp=_at(0)
        )
        for turn in range(self.turns):
            yield from self._turn(turn)
        yield self._line(
            "AgentEnd", messages=self.messages, usage=USAGE, timestamp=_at(self.turns), rejection=None
        )

    def _turn(self, turn):
        yield self._line("TurnStart", turn_index=turn, timestamp=_at(turn), triggered_by="User")
        if turn == 0:
            yield from self._whole({"content": self._content(300), "role": "user", "timestamp": turn})
        yield self._request(turn)
        answer, call = self._content(700), f"toolu_{self.chance.randrange(2**60):015x}"
        arguments = {"command": self._words(200), "timeout": turn}
        tool_call = {"arguments": arguments, "id": call, "name": "bash", "type": "toolCall"}
        empty = {"content": [], **ABOUT, "timestamp": turn, "usage": USAGE}
        yield self._line("MessageStart", message=empty)
        yield from self._streamed(empty, answer[0]["text"])
        yield from self._ended({**empty, "content": [*answer, tool_call]})
        yield self._line("ToolExecutionStart", tool_call_id=call, tool_name="bash", args=arguments)
        content = self._content(900)
        yield self._line(
            "ToolExecutionEnd",
            tool_call_id=call,
            tool_name="bash",
            result={"content": content, "details": None},
            is_error=False,
        )
        result = {
            "content": content,
            "isError": False,
            "role": "toolResult",
            "timestamp": turn,
            "toolCallId": call,
            "toolName": "bash",
        }
        yield from self._whole(result)
        yield self._line(
            "TurnEnd", message=self.messages[-2], usage=USAGE, timestamp=_at(turn), tool_results=[result]
        )

    def _request(self, turn):
        payload = {
            "system_prompt": "You are a careful engineer. " * 40,
            "messages": [_sent(message) for message in self.messages],
            "provenance": [{"kind": "history"} for _ in self.messages],
            "tools": TOOLS,
            "model_id": "claude-sonnet-4-6",
            "thinking_level": "off",
        }
        return self._line("TurnRequest", turn_index=turn, payload=payload, timestamp=_at(turn))

    def _streamed(self, empty, text):
        size = len(text) // max(self.deltas, 1) + 1
        for at in range(0, len(text) if self.deltas else 0, size):
            yield self._line("MessageUpdate", message=empty, delta={"Text": {"delta": text[at : at + size]}})

    def _whole(self, message):
        yield self._line("MessageStart", message=message)
        yield from self._ended(message)

    def _ended(self, message):
        self.messages.append(message)
        yield self._line("MessageEnd", message=message)

    def _content(self, size):
        return [{"text": self._words(size), "type": "text"}]

    def _words(self, size):
        words = (
            "".join(self.chance.choices(LETTERS, k=self.chance.randrange(2, 9))) for _ in range(size // 5)
        )
        return ' "quoted"\n'.join((" ".join(words)[:size], str(size)))

    def _line(self, kind, **fields):
        event = {"type": kind, "loop_id": f"{self.session}.{CONFIG}.1", **fields}
        return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


def _sent(message):
    """Return a message as a request has it."""
    content = [{"type": block["type"], **block} for block in message["content"]]
    return {"role": message["role"], "content": content} | {
        k: v for k, v in message.items() if k != "content"
    }


def _at(second):
    return f"2026-02-11T{9 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000000000Z"
