"""Block for a tool call: arguments, progress, result, duration."""

from __future__ import annotations

from time import monotonic
from uuid import uuid4

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import OpenLoop, Scope, error_text, ids, now
from loopscope_client.transport.encoding import text_of


class Tool(Scope):
    """One tool call, from ToolExecutionStart to ToolExecutionEnd; `loop.tool()` returns it.

    Its duration is measured in milliseconds. An exception in its block becomes its error and propagates.

    Example::

        with client.loop() as loop, loop.turn():
            with loop.tool("bash", {"command": "ls"}) as tool:
                tool.progress("running")
                tool.result("README.md", details={"exit_code": 0})
    """

    def __init__(self, loop: OpenLoop, name: str, args: object, call: str | None) -> None:
        self.name, self.call = text_of(name), ids(call, f"call-{uuid4().hex[:12]}")
        self._loop, self._args = loop, args
        self._content: list[messages.Message] = []
        self._details: object = None
        self._is_error = False
        self._began = 0.0

    @quiet
    def progress(self, text: str) -> None:
        """Record a progress message.

        Example::

            with client.loop() as loop, loop.tool("tests") as tool:
                tool.progress("120 of 300")
        """
        self._loop.event("ProgressMessage", tool_call_id=self.call, tool_name=self.name, text=text_of(text))

    @quiet
    def update(self, partial: object) -> None:
        """Record a partial result, which the page shows while the tool runs.

        Example::

            with client.loop() as loop, loop.tool("bash", {"command": "make"}) as tool:
                tool.update("compiling")
                tool.result("done")
        """
        self._event(
            "ToolExecutionUpdate", partial_result={"content": messages.blocks(partial), "details": None}
        )

    @quiet
    def result(self, content: object, *, is_error: bool = False, details: object = None) -> None:
        """Set the result: text, a list of content blocks, or any object, of which the `repr` is recorded.

        `details` is any JSON value for the page, not for the model. The last call wins.

        Example::

            with client.loop() as loop, loop.tool("bash", {"command": "ls x"}) as tool:
                tool.result("No such file", is_error=True, details={"exit_code": 2})
        """
        self._content, self._is_error, self._details = messages.blocks(content), is_error, details

    @quiet
    def error(self, message: object) -> None:
        """Set an error message as the result.

        Example::

            with client.loop() as loop, loop.tool("fetch") as tool:
                tool.error("timeout after 30 s")
        """
        self._content, self._is_error = messages.blocks(text_of(message)), True

    def _begin(self) -> None:
        self._began = monotonic()
        if self._loop.turn_open is not None:
            self._loop.turn_open.called(self.call, self.name, self._args)
        self._event("ToolExecutionStart", args=self._args)

    def _end(self, error: BaseException | None) -> None:
        if error is not None:
            self.error(error_text(error))
        duration_ms = round((monotonic() - self._began) * 1000)
        result = {"content": self._content, "details": self._details}
        self._event("ToolExecutionEnd", result=result, is_error=self._is_error, duration_ms=duration_ms)
        answer = messages.tool_result(self.call, self.name, self._content, is_error=self._is_error)
        self._loop.message(answer)
        if self._loop.turn_open is not None:
            self._loop.turn_open.returned(answer)

    def _event(self, type: str, **fields: object) -> None:
        self._loop.event(type, tool_call_id=self.call, tool_name=self.name, timestamp=now(), **fields)
