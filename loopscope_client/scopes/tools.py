"""A tool at work: what it was asked, how far it is, what it returned."""

from __future__ import annotations

from time import monotonic
from uuid import uuid4

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import OpenLoop, Scope, ids, now, told
from loopscope_client.transport.encoding import text_of


class Tool(Scope):
    """One tool execution; an exception in its block is its error."""

    def __init__(self, loop: OpenLoop, name: str, args: object, call: str | None) -> None:
        self.name, self.call = text_of(name), ids(call, f"call-{uuid4().hex[:12]}")
        self._loop, self._args = loop, args
        self._content: list[messages.Message] = []
        self._details: object = None
        self._is_error = False
        self._began = 0.0

    @quiet
    def progress(self, text: str) -> None:
        """Say how far it is."""
        self._loop.event("ProgressMessage", tool_call_id=self.call, tool_name=self.name, text=text_of(text))

    @quiet
    def update(self, partial: object) -> None:
        """Show a part of the result."""
        self._event(
            "ToolExecutionUpdate", partial_result={"content": messages.blocks(partial), "details": None}
        )

    @quiet
    def result(self, content: object, *, is_error: bool = False, details: object = None) -> None:
        """What the tool returns: text, content blocks or anything with a repr."""
        self._content, self._is_error, self._details = messages.blocks(content), is_error, details

    @quiet
    def error(self, message: object) -> None:
        """The tool failed."""
        self._content, self._is_error = messages.blocks(text_of(message)), True

    def _begin(self) -> None:
        self._began = monotonic()
        if self._loop.turn_open is not None:
            self._loop.turn_open.called(self.call, self.name, self._args)
        self._event("ToolExecutionStart", args=self._args)

    def _end(self, error: BaseException | None) -> None:
        if error is not None:
            self.error(told(error))
        took = round((monotonic() - self._began) * 1000)
        result = {"content": self._content, "details": self._details}
        self._event("ToolExecutionEnd", result=result, is_error=self._is_error, duration_ms=took)
        answer = messages.tool_result(self.call, self.name, self._content, is_error=self._is_error)
        self._loop.message(answer)
        if self._loop.turn_open is not None:
            self._loop.turn_open.returned(answer)

    def _event(self, type: str, **fields: object) -> None:
        self._loop.event(type, tool_call_id=self.call, tool_name=self.name, timestamp=now(), **fields)
