"""Block for a compaction: messages and tokens of the context before and after, and the summary."""

from __future__ import annotations

from loopscope_client.never_raise import quiet
from loopscope_client.scopes.base import OpenLoop, Scope, now
from loopscope_client.transport.encoding import text_of


class Compaction(Scope):
    """A compaction of the context; `loop.compaction()` returns it.

    Without `done` the size after it stays unknown. After an exception in its block no end is recorded.

    Example::

        with client.loop() as loop, loop.compaction(messages=40, tokens=9_000) as compaction:
            compaction.done(messages=3, tokens=700)
    """

    def __init__(self, loop: OpenLoop, messages: int, tokens: int) -> None:
        self._loop, self._before = loop, (_count(messages) or 0, _count(tokens) or 0)
        self._after: tuple[int | None, int | None] = (None, None)
        self._summary: str | None = None

    @quiet
    def done(
        self, *, messages: int | None = None, tokens: int | None = None, summary: str | None = None
    ) -> None:
        """Set the number of messages and tokens after it, and the summary that replaces the rest.

        Example::

            with client.loop() as loop, loop.compaction(messages=40, tokens=9_000) as compaction:
                compaction.done(messages=3, tokens=700, summary="We made soup.")
        """
        self._after = (_count(messages), _count(tokens))
        self._summary = None if summary is None else text_of(summary)

    def _begin(self) -> None:
        count, tokens = self._before
        self._loop.event("CompactionStarted", estimated_tokens=tokens, message_count=count, timestamp=now())

    def _end(self, error: BaseException | None) -> None:
        if error is not None:  # the loop's end records the error
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
