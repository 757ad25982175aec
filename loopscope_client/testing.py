"""A client that keeps events in memory, with which programs test what they record.

It encodes events as `Client` does, and opens no connection, no thread and no file. Events are decoded again,
so their values are those that a server would get.
"""

from __future__ import annotations

import json
import logging
from threading import RLock

from loopscope_client import client, never_raise
from loopscope_client.aio import AsyncClient
from loopscope_client.client import Client
from loopscope_client.scopes.base import error_text
from loopscope_client.scopes.memory_records import Event, RecordedLoop, RecordedToolCall, loops_in, open_parts
from loopscope_client.status import Status
from loopscope_client.transport.delivery import State

__all__ = ["MemoryClient"]
_LOGS = (client.log, never_raise.log)  # of recording calls


class MemoryClient(Client):
    """A `Client` for tests, without a server. Thread-safe; a forked child has a copy.

    Example::

        from loopscope_client.testing import MemoryClient

        with MemoryClient() as client:
            with client.loop(agent="cook") as loop, loop.turn() as turn:
                turn.answer("Soup.", input=18, output=5)
            client.assert_complete()
        assert client.loops("cook")[0].turns[0].answer == "Soup."
    """

    def __init__(self) -> None:  # not that of `Client`, which opens a spool and starts a thread
        self._lock, self._closed, self._masker = RLock(), False, None
        self._events: list[Event] = []
        self._problems = _Problems(logging.WARNING)
        for log in _LOGS:
            log.addHandler(self._problems)

    @property
    def as_async(self) -> AsyncClient:
        """An `AsyncClient` that records into this client.

        Example::

            from loopscope_client.testing import MemoryClient

            with MemoryClient() as client:
                async with client.as_async.loop(agent="cook") as loop:
                    await loop.user("Leeks?")
                assert client.loops()[0].prompts == ["Leeks?"]
        """
        return _AsyncMemoryClient(self)

    def events(self, *types: str) -> list[Event]:
        """Return the events of some types, or all, in order; a score has the type `Score`.

        Example::

            from loopscope_client.testing import MemoryClient

            with MemoryClient() as client, client.loop() as loop:
                loop.score("quality", 4)
            assert client.events("Score")[0]["value"] == 4
        """
        return [event for event in list(self._events) if not types or event.get("type") in types]

    def loops(self, agent: str | None = None) -> list[RecordedLoop]:
        """Return the loops of an agent, or all, as they started; branches and sub-agents are loops, too.

        Example::

            from loopscope_client.testing import MemoryClient

            with MemoryClient() as client, client.loop(agent="cook") as loop:
                loop.fail("No leeks")
            assert client.loops("cook")[0].outcome == "failed"
        """
        return [loop for loop in loops_in(self.events()) if agent is None or loop.agent == agent]

    def tool_calls(self, name: str | None = None) -> list[RecordedToolCall]:
        """Return the calls of a tool, or all, loop by loop.

        Example::

            from loopscope_client.testing import MemoryClient

            with MemoryClient() as client, client.loop() as loop, loop.tool("ls", {"path": "/"}) as tool:
                tool.result("README.md")
            assert client.tool_calls("ls")[0].result == "README.md"
        """
        calls = [call for loop in self.loops() for call in loop.tool_calls]
        return [call for call in calls if name is None or call.name == name]

    def assert_complete(self) -> None:
        """Assert that all loops, turns and tool calls have ended, and that no recording call logged an error.

        Raises AssertionError, which names all that is missing.

        Example::

            from loopscope_client.testing import MemoryClient

            with MemoryClient() as client, client.loop():
                pass
            client.assert_complete()
        """
        problems = [*self._problems.texts, *(part for loop in self.loops() for part in open_parts(loop))]
        if problems:
            raise AssertionError("; ".join(problems))

    @property
    def position(self) -> int:
        return sum(event.get("type") != "Score" for event in self.events())

    @property
    def status(self) -> Status:
        state: State = "closed" if self._closed else "idle"
        return Status(state, "", "memory", "", 0, 0, self.position, 0, "", 0, 0, 0)

    def has_room(self, size: int) -> bool:
        return True

    def finish(self) -> None:
        """Do nothing: no other process continues this stream."""

    def close(self, timeout: float | None = None) -> bool:
        self._closed = True
        for log in _LOGS:
            log.removeHandler(self._problems)
        return True

    def _append(self, line: bytes, kind: str, place: tuple[str, str] | None) -> bool:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict):
            self._events.append(event)
        else:  # a server would reject it
            client.log.warning("a line is not an event: %.80r", line)
        return True

    def _append_score(self, line: bytes) -> bool:
        return self._append(b'{"type":"Score",' + line[1:], "Score", None)

    def _drained(self, timeout: float) -> bool:
        return True


class _AsyncMemoryClient(AsyncClient):
    def __init__(self, memory: MemoryClient) -> None:  # not that of `AsyncClient`, which makes a `Client`
        self._client = memory


class _Problems(logging.Handler):
    """The errors that recording calls logged while a client was open."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.texts.append(record.getMessage() + (f": {error_text(error)}" if error else ""))
