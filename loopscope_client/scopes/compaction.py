"""A compaction: how large the context was, how large it is, what is left of it."""

from __future__ import annotations

from loopscope_client.never_raise import quiet
from loopscope_client.scopes.base import OpenLoop, Scope, now
from loopscope_client.transport.encoding import text_of


class Compaction(Scope):
    """A context that is being shortened; one that ends without `done` says nothing of its result."""

    def __init__(self, loop: OpenLoop, messages: int, tokens: int) -> None:
        self._loop, self._before = loop, (_count(messages) or 0, _count(tokens) or 0)
        self._after: tuple[int | None, int | None] = (None, None)
        self._summary: str | None = None

    @quiet
    def done(
        self, *, messages: int | None = None, tokens: int | None = None, summary: str | None = None
    ) -> None:
        """The context is shorter now: what it holds, and the text that stands for the rest."""
        self._after = (_count(messages), _count(tokens))
        self._summary = None if summary is None else text_of(summary)

    def _begin(self) -> None:
        count, tokens = self._before
        self._loop.event("CompactionStarted", estimated_tokens=tokens, message_count=count, timestamp=now())

    def _end(self, error: BaseException | None) -> None:
        if error is not None:  # the loop's end says that it was cut
            return
        self._loop.event(
            "CompactionEnded",
            messages_before=self._before[0],
            messages_after=self._after[0],
            estimated_tokens_before=self._before[1],
            estimated_tokens_after=self._after[1],
            loops_compacted=None,
            timestamp=now(),
            summary=self._summary,
        )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None
