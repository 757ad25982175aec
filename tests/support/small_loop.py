"""The events of one small loop in phi-core's form."""

from datetime import UTC, datetime
from itertools import count

_numbers = count(1)


class Loop:
    """One loop of a session; every method returns one event."""

    def __init__(self, session: str = "", name: str = "") -> None:
        self.session = session or f"session-{next(_numbers)}"
        self.id = f"{self.session}.{name or 'anthropic.claude-sonnet-4-5.1'}"
        self.turns = -1

    def _event(self, type_: str, **fields) -> dict:
        return {"type": type_, "loop_id": self.id, **fields}

    def start(self, **fields) -> dict:
        return self._event(
            "AgentStart",
            agent_id="coder",
            session_id=self.session,
            parent_loop_id=None,
            continuation_kind="Initial",
            timestamp=now(),
            metadata=None,
            config_snapshot=CONFIG,
            **fields,
        )

    def turn(self) -> dict:
        self.turns += 1
        return self._event("TurnStart", turn_index=self.turns, timestamp=now(), triggered_by="User")

    def prompt(self, text: str) -> list[dict]:
        message = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}
        return [self._event("MessageStart", message=message), self._event("MessageEnd", message=message)]

    def answering(self) -> dict:
        return self._event("MessageStart", message=assistant([]))

    def delta(self, text: str) -> dict:
        return self._event("MessageUpdate", message=assistant([]), delta={"Text": {"delta": text}})

    def answer(self, text: str) -> dict:
        return self._event("MessageEnd", message=assistant([{"type": "text", "text": text}]))

    def tool(self, call: str, name: str = "bash", **args) -> dict:
        return self._event("ToolExecutionStart", tool_call_id=call, tool_name=name, args=args)

    def progress(self, call: str, text: str, name: str = "bash") -> dict:
        return self._event("ProgressMessage", tool_call_id=call, tool_name=name, text=text)

    def tool_end(self, call: str, text: str, name: str = "bash") -> dict:
        result = {"content": [{"type": "text", "text": text}], "details": None}
        return self._event(
            "ToolExecutionEnd", tool_call_id=call, tool_name=name, result=result, is_error=False
        )

    def approval(self, call: str, command: str) -> dict:
        fields = {"approval_id": f"approve-{call}", "kind": "command", "tool_call_id": call}
        return self._event("ApprovalRequested", session_id=self.session, command=command, **fields)

    def turn_end(self, text: str) -> dict:
        message = assistant([{"type": "text", "text": text}])
        return self._event("TurnEnd", message=message, usage=USAGE, timestamp=now(), tool_results=[])

    def end(self) -> dict:
        return self._event("AgentEnd", messages=[], usage=USAGE, timestamp=now(), rejection=None)

    def whole_turn(self, text: str) -> list[dict]:
        return [
            self.turn(),
            *self.prompt(f"Ask {text}"),
            self.answering(),
            self.answer(text),
            self.turn_end(text),
        ]

    def whole(self, text: str) -> list[dict]:
        """Return the events of a loop that ran one turn and ended well."""
        return [self.start(), *self.whole_turn(text), self.end()]


CONFIG = {
    "model": "claude-sonnet-4-5",
    "provider": "anthropic",
    "config_id": "anthropic.claude-sonnet-4-5",
    "api": "anthropic_messages",
}
USAGE = {"input": 10, "output": 5, "reasoning": 0, "cache_read": 0, "cache_write": 0, "total_tokens": 15}


def assistant(content: list) -> dict:
    fields = {"stopReason": "stop", "model": "claude-sonnet-4-5", "provider": "anthropic", "usage": USAGE}
    return {"role": "assistant", "content": content, "timestamp": 1} | fields


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
