"""Block for a turn: the request to the model, the streamed text, the answer."""

from __future__ import annotations

from collections.abc import Mapping

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import OpenLoop, Scope, error_text, now, outcome_of
from loopscope_client.scopes.messages import Message
from loopscope_client.transport.encoding import text_of


class Turn(Scope):
    """One model call and its tool calls, from TurnStart to TurnEnd; `loop.turn()` returns it.

    Without `answer` the streamed text is the answer. An exception in its block ends it as an error, or as
    aborted when it was cancelled.

    Example::

        with client.loop() as loop, loop.turn() as turn:
            turn.request([{"role": "user", "content": "What can I make of leeks?"}], system="You cook.")
            turn.thinking("Leeks and potatoes.")
            turn.text("Soup.")
            turn.answer(input=18, output=5)
    """

    def __init__(self, loop: OpenLoop, index: int, trigger: str | None) -> None:
        self.index = index
        self._loop, self._trigger = loop, trigger
        self._written: dict[str, list[str]] = {"text": [], "thinking": []}
        self._calls: list[Message] = []
        self._results: list[Message] = []
        self._usage = messages.usage_of(None, {})
        self._cost: object = None
        self._miss = ""
        self._is_streaming = self._is_answered = False
        self._message: Message = self._assistant("stop", "")

    @quiet
    def request(self, prompt: object = None, *, system: str = "", tools: object = None) -> None:
        """Record the request as sent to the model; `prompt` is the list of its messages.

        `system` is the system prompt, `tools` the list of tool definitions. Around a compaction it shows the
        changed context. Anything but a list is recorded as an empty list.

        Example::

            with client.loop() as loop, loop.turn() as turn:
                turn.request([{"role": "user", "content": "Leeks?"}], system="You cook.", tools=[])
        """
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
        """Record a part of the answer as it streams in; parts are joined without a separator.

        Example::

            with client.loop() as loop, loop.turn() as turn:
                for delta in ("Soup", ", of ", "course."):
                    turn.text(delta)
        """
        self._write("text", "Text", text_of(delta))

    @quiet
    def thinking(self, delta: str) -> None:
        """Record a part of the model's thinking as it streams in.

        Example::

            with client.loop() as loop, loop.turn() as turn:
                turn.thinking("Leeks and potatoes.")
                turn.text("Soup.")
        """
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
        cache_miss_reason: object = None,
        **counts: object,
    ) -> None:
        """Record the complete answer; without `text` it is the streamed text.

        `usage` is a model API's usage object as a mapping; `input`, `output`, `reasoning`, `cache_read` and
        `cache_write` are counts in tokens and take precedence. `input` excludes cached tokens. A value
        other than a number from 0 to 2**53 - 1 becomes 0. `cost` is the price in US dollars, if the API
        states it. `stop` is phi-core's stop reason; `error` marks the answer as failed. `cache_miss_reason`
        is why the provider says that its prompt cache was missed, as Anthropic's cache diagnostics report it.

        Example::

            with client.loop() as loop:
                with loop.turn() as turn:
                    turn.answer("Soup.", input=18, output=5, cache_read=200)
                with loop.turn() as turn:
                    turn.answer("More soup.", usage={"prompt_tokens": 30, "completion_tokens": 4})
        """
        if text is not None:
            self._written["text"] = [text_of(text)]
        self._usage, self._cost = messages.usage_of(usage, counts), cost
        self._miss = messages.reason_of(cache_miss_reason)
        self._message = self._assistant(stop or ("error" if error else "stop"), text_of(error))
        self._end_message()

    @quiet
    def called(self, call: str, name: str, args: object) -> None:
        """Record the start of a tool call, which ends the answer; tools call it."""
        self._calls.append({"type": "toolCall", "id": call, "name": name, "arguments": args})
        self._message = self._assistant("toolUse", "")
        if not self._is_answered:
            self._end_message()

    @quiet
    def returned(self, result: Message) -> None:
        """Add the result of a tool call to the turn's end; tools call it."""
        self._results.append(result)

    def _begin(self) -> None:
        self._loop.turn_began(self, self._trigger)

    def _end(self, error: BaseException | None) -> None:
        if error is not None and not self._is_answered:
            stop = "aborted" if outcome_of(error) == "cancelled" else "error"
            self._message = self._assistant(stop, error_text(error))
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

    def _end_message(self) -> None:
        self._start_message()
        self._is_streaming, self._is_answered = False, True
        self._loop.message_ended(self._message)

    def _assistant(self, stop: str, error: str) -> Message:
        thought, text = ("".join(self._written[kind]) for kind in ("thinking", "text"))
        content: list[Message] = [{"type": "thinking", "thinking": thought}] if thought else []
        content += [{"type": "text", "text": text}] if text else []
        found = messages.assistant(content + self._calls, self._loop.config, self._usage, stop, error)
        return {**found, "diagnostics": {"cache_miss_reason": self._miss}} if self._miss else found
