"""Limits on the sustained rate of an access token, and of frames without an event on one socket.

Beyond the rate of its token a sender is asked to wait, and nothing is stored; a socket without allowance is
closed. Counted in each process; used on the event loop only.
"""

from __future__ import annotations

from time import monotonic

from django.conf import settings

from recorder.database.errors import Busy

BURST_S = 10.0  # of the rate may come at once
ALLOWANCE, ALLOWANCE_PER_S = 200, 10  # frames


class Allowance:
    """The frames without events that a client may send: a burst, and then a few a second."""

    def __init__(self) -> None:
        self._left = float(ALLOWANCE)
        self._refilled_at = monotonic()

    def spend(self) -> bool:
        """Take one frame; return whether it was allowed."""
        self._left -= 1
        if self._left < 0:  # only then is the clock read
            now = monotonic()
            self._left = min(ALLOWANCE, self._left + ALLOWANCE_PER_S * (now - self._refilled_at))
            self._refilled_at = now
        return self._left >= 0

    def give(self) -> None:
        """Allow one frame more: the client was sent something that it answers."""
        self._left = min(ALLOWANCE, self._left + 1)


class Rates:
    """For each token the time until which its rate is used up."""

    def __init__(self, events_s: int, bytes_s: int) -> None:
        self._events_s, self._bytes_s = events_s, bytes_s
        self._used_until: dict[int, float] = {}

    def ask(self, token: int) -> None:
        """Raise Busy if the token is ahead of its rate by more than a burst."""
        ahead_s = self._used_until.get(token, 0.0) - monotonic() - BURST_S
        if ahead_s > 0:
            raise Busy("rate_limited", 1 + int(ahead_s * 1000))

    def count(self, token: int, lines: int, size: int) -> None:
        """Note lines of a token that were stored, and their size in bytes."""
        events_s = lines / self._events_s if self._events_s else 0.0
        bytes_s = size / self._bytes_s if self._bytes_s else 0.0
        if spent := max(events_s, bytes_s):
            used_until = self._used_until.get(token, 0.0)
            self._used_until[token] = max(used_until, monotonic()) + spent

    def forget(self) -> None:
        """Forget what all tokens have sent."""
        self._used_until.clear()


rates = Rates(settings.LOOPSCOPE_LIMITS["token_events_s"], settings.LOOPSCOPE_LIMITS["token_bytes_s"])
