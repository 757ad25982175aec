"""Base class of the blocks, and the protocols through which the blocks of a loop use one another."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, Protocol, Self, TypeAlias

from loopscope_client.never_raise import Done, quiet
from loopscope_client.scopes.messages import Message

Outcome = Literal["completed", "failed", "cancelled"]
ScoreValue: TypeAlias = float | bool | str


class Sends(Protocol):
    """An object that records events."""

    def send(self, event: Mapping[str, object]) -> Done: ...
    def score(
        self,
        session_id: str,
        name: str,
        value: ScoreValue,
        comment: str | None = None,
        *,
        loop: str | None = None,
        turn: int | None = None,
        id: str | None = None,
    ) -> Done: ...


class OpenTurn(Protocol):
    """The methods of a turn that its tools use."""

    def called(self, call: str, name: str, args: object) -> Done: ...
    def returned(self, result: Message) -> Done: ...


class OpenLoop(Protocol):
    """The methods of a loop that its turns, tools and compactions use."""

    @property
    def config(self) -> dict[str, object] | None: ...
    @property
    def turn_open(self) -> OpenTurn | None: ...
    def event(self, /, type: str, **fields: object) -> Done: ...
    def message(self, message: Message) -> Done: ...
    def message_ended(self, message: Message) -> Done: ...
    def turn_began(self, turn: OpenTurn, trigger: str | None) -> Done: ...
    def turn_ended(self, usage: Mapping[str, int]) -> Done: ...


class Scope:
    """A block that records a start and an end; `with` and `async with` do the same.

    Entering and leaving never raise; an exception of the body propagates.
    """

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
    """Return `text` as an id: printable, at most 200 bytes; `spare` when nothing of it is left."""
    printable = "".join(c for c in str(text) if c.isprintable()) if text is not None else ""
    return printable.encode(errors="ignore")[:200].decode(errors="ignore") or spare


def outcome_of(error: BaseException | None) -> Outcome:
    """Return the outcome of a block that ended with `error`; cancellation and interrupts are cancelled."""
    if error is None:
        return "completed"
    cancelled = (CancelledError, KeyboardInterrupt, GeneratorExit)
    return "cancelled" if isinstance(error, cancelled) else "failed"


def error_text(error: BaseException) -> str:
    """Return type and message of an exception."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")
