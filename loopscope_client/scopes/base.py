"""What a with-block of an agent is, and what the blocks inside a loop use of it and of its turn."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, Protocol, Self

from loopscope_client.never_raise import Done, quiet
from loopscope_client.scopes.messages import Message

Outcome = Literal["completed", "failed", "cancelled"]


class Sends(Protocol):
    """Something that records events."""

    def send(self, event: Mapping[str, object]) -> Done: ...


class OpenTurn(Protocol):
    """What a tool uses of the turn that asked for it."""

    def called(self, call: str, name: str, args: object) -> Done: ...
    def returned(self, result: Message) -> Done: ...


class OpenLoop(Protocol):
    """What turns, tools and compactions use of their loop."""

    @property
    def config(self) -> dict[str, object] | None: ...
    @property
    def turn_open(self) -> OpenTurn | None: ...
    def event(self, /, type: str, **fields: object) -> Done: ...
    def message(self, message: Message) -> Done: ...
    def said(self, message: Message) -> Done: ...
    def turn_began(self, turn: OpenTurn, trigger: str | None) -> Done: ...
    def turn_ended(self, usage: Mapping[str, int]) -> Done: ...


class Scope:
    """Something that begins and ends: `with` and `async with` do the same."""

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    @quiet
    def _open(self) -> None:
        self._begin()

    @quiet
    def _close(self, error: BaseException | None) -> None:
        self._end(error)

    def _begin(self) -> None:
        raise NotImplementedError

    def _end(self, error: BaseException | None) -> None:
        raise NotImplementedError


def now() -> str:
    return datetime.now(UTC).isoformat()


def ids(text: object, spare: str) -> str:
    """Return text that may stand as an id."""
    kept = "".join(c for c in str(text) if c.isprintable()) if text is not None else ""
    return kept.encode(errors="ignore")[:200].decode(errors="ignore") or spare


def outcome_of(error: BaseException | None) -> Outcome:
    """Say how a block ended: an interrupted one was cancelled."""
    if error is None:
        return "completed"
    cancelled = (CancelledError, KeyboardInterrupt, GeneratorExit)
    return "cancelled" if isinstance(error, cancelled) else "failed"


def told(error: BaseException) -> str:
    """Name an exception in one line."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")
