"""What a with-block of an agent is, and which ones a client opens."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self
from uuid import uuid4

from loopscope_client.never_raise import Done, quiet

if TYPE_CHECKING:
    from loopscope_client.groups import Group
    from loopscope_client.loops import Loop

Outcome = Literal["completed", "failed", "cancelled"]


class Sends(Protocol):
    """Something that records events."""

    def send(self, event: Mapping[str, object]) -> Done: ...


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


class Scopes:
    """The blocks that a client opens."""

    def send(self, event: Mapping[str, object]) -> Done:
        """Record one event."""
        raise NotImplementedError

    def loop(
        self,
        agent: str = "agent",
        model: str | None = None,
        provider: str | None = None,
        session: str | None = None,
        *,
        title: str | None = None,
        parent: str | None = None,
        metadata: object = None,
        **settings: object,
    ) -> Loop:
        """Record one loop of an agent; `parent` is the id of the loop that it continues.

        `settings` are what else the model was told, such as `temperature` or `thinking_level`.
        """
        from loopscope_client.loops import Loop, snapshot  # noqa: PLC0415  loops are made of scopes

        return Loop(
            self,
            agent=agent,
            session=session or str(uuid4()),
            config=snapshot(model, provider, settings),
            title=title,
            parent=parent,
            metadata=metadata,
        )

    def parallel(
        self, configs: Sequence[Mapping[str, object]], agent: str = "agent", session: str | None = None
    ) -> Group:
        """Record several loops at the same task, one a config, of which one is selected."""
        from loopscope_client.groups import Group  # noqa: PLC0415  as above

        return Group(self, configs, agent, session or str(uuid4()))


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
