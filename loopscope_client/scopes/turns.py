"""A turn of an agent: what the model was asked, what it writes, its answer."""

from __future__ import annotations

from collections.abc import Mapping

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import OpenLoop, Scope, now, outcome_of, told
from loopscope_client.scopes.messages import Message
from loopscope_client.transport.encoding import text_of


class Turn(Scope):
    """One model call and its tools, from TurnStart to TurnEnd."""

    def __init__(self, loop: OpenLoop, index: int, trigger: str | None) -> None:
        self.index = index
        self._loop, self._trigger = loop, trigger
        self._written: dict[str, list[str]] = {"text": [], "thinking": []}
        self._calls: list[Message] = []
        self._results: list[Message] = []
        self._usage = messages.usage_of(None, {})
        self._cost: object = None
        self._is_streaming = self._is_answered = False
        self._message: Message = self._assistant("stop", "")

    @quiet
    def request(self, prompt: object = None, *, system: str = "", tools: object = None) -> None:
        """Record what the model is really sent: `prompt` is the list of its messages."""
        config = self._loop.config or {}
        payload = {
            "system_prompt": text_of(system),
            "messages": prompt if isinstance(prompt, list) else [],
            "provenance": [],
            "tools": tools if isinstance(tools, list) else [],
            "model_id": config.get("model"),
            "thinking_level": config.get("thinking_level", "off"),
            "max_tokens": config.get("max_tokens"),
            "temperature": config.get("temperature"),
            "response_format": {"kind": "text"},
        }
        self._loop.event("TurnRequest", turn_index=self.index, payload=payload, timestamp=now())

    @quiet
    def text(self, delta: str) -> None:
        """The model wrote a piece of its answer."""
        self._write("text", "Text", text_of(delta))

    @quiet
    def thinking(self, delta: str) -> None:
        """The model thought a piece aloud."""
        self._write("thinking", "Thinking", text_of(delta))

    @quiet
    def answer(
        self,
        /,
        text: str | None = None,
        *,
        usage: Mapping[str, object] | None = None,
        stop: str | None = None,
        cost: object = None,
        error: str = "",
        **counts: object,
    ) -> None:
        """The answer is whole; without `text` it is what was streamed. `input=`, `output=`, … are tokens."""
        if text is not None:
            self._written["text"] = [text_of(text)]
        self._usage, self._cost = messages.usage_of(usage, counts), cost
        self._message = self._assistant(stop or ("error" if error else "stop"), text_of(error))
        self._say()

    @quiet
    def called(self, call: str, name: str, args: object) -> None:
        """A tool runs that the model asked for; with that its answer is whole."""
        self._calls.append({"type": "toolCall", "id": call, "name": name, "arguments": args})
        self._message = self._assistant("toolUse", "")
        if not self._is_answered:
            self._say()

    @quiet
    def returned(self, result: Message) -> None:
        self._results.append(result)

    def _begin(self) -> None:
        self._loop.turn_began(self, self._trigger)

    def _end(self, error: BaseException | None) -> None:
        if error is not None and not self._is_answered:
            stop = "aborted" if outcome_of(error) == "cancelled" else "error"
            self._message = self._assistant(stop, told(error))
        elif not self._is_answered and any(self._written.values()):
            self.answer()
        end = {
            "message": self._message,
            "usage": self._usage,
            "timestamp": now(),
            "tool_results": self._results,
        }
        priced = {} if self._cost is None else {"cost": self._cost}
        self._loop.event("TurnEnd", turn_index=self.index, **end, **priced)
        self._loop.turn_ended(self._usage)

    def _write(self, kind: str, name: str, delta: str) -> None:
        if not delta:
            return
        self._start_message()
        self._written[kind].append(delta)
        empty = {"role": "assistant", "content": []}
        self._loop.event("MessageUpdate", message=empty, delta={name: {"delta": delta}})

    def _start_message(self) -> None:
        if not self._is_streaming:
            self._is_streaming = True
            self._loop.event(
                "MessageStart", message=messages.assistant([], self._loop.config, {}, "stop", "")
            )

    def _say(self) -> None:
        self._start_message()
        self._is_streaming, self._is_answered = False, True
        self._loop.said(self._message)

    def _assistant(self, stop: str, error: str) -> Message:
        thought, text = ("".join(self._written[kind]) for kind in ("thinking", "text"))
        content: list[Message] = [{"type": "thinking", "thinking": thought}] if thought else []
        content += [{"type": "text", "text": text}] if text else []
        return messages.assistant(content + self._calls, self._loop.config, self._usage, stop, error)
