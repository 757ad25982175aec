"""Counts of attempts that all nodes share, in Redis; imported only where `REDIS_URL` is set.

A table is a hash of counts and a sorted set of when they end, both bounded. Its keys are hashes: Redis holds
no names and no addresses. Each command waits for Redis at most `WAIT_S`; after a failure Redis is not asked
for `AGAIN_S`, so that signing in stays quick while it is away.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from django.conf import settings
from django.utils.crypto import salted_hmac
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = logging.getLogger(__name__)

WAIT_S = 0.5
AGAIN_S = 5.0
FAULTS = (OSError, RedisError)

# KEYS: counts, ends. ARGV: key, window in ms, rows. A call removes at most 100 ended counts, and adds one.
COUNT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function drop(key)
    redis.call('HDEL', KEYS[1], key)
    redis.call('ZREM', KEYS[2], key)
end
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 100)) do drop(ended) end
local ends = redis.call('ZSCORE', KEYS[2], ARGV[1])
if ends and tonumber(ends) <= now then drop(ARGV[1]) end
local tries = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
if tries == 1 then
    redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
    if redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[3]) then
        drop(redis.call('ZRANGE', KEYS[2], 0, 0)[1])
    end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return tries
"""


class SharedAttempts:
    """One table of counts in Redis. May be used from several threads."""

    def __init__(self, name: str, rows: int, window_s: float) -> None:
        table = f"{settings.REDIS_PREFIX}-attempts-{{{name}}}"
        self._keys = [f"{table}-counts", f"{table}-ends"]
        self._limits = [int(window_s * 1000), rows]
        retry = Retry(NoBackoff(), 0)
        self._redis = Redis.from_url(settings.REDIS_URL, socket_timeout=WAIT_S, retry=retry)
        self._count = self._redis.register_script(COUNT)
        self._away_until = 0.0

    def count(self, *key: str) -> int | None:
        """Count an attempt; return how many there were within the window, None if Redis does not answer."""
        if monotonic() < self._away_until:
            return None
        try:
            tries = int(self._count(self._keys, [_field(key), *self._limits]))
        except FAULTS as error:
            self._note_fault(error)
            return None
        if self._away_until:
            self._away_until = 0.0
            log.warning("Attempts to sign in are counted for all nodes again")
        return tries

    def forget(self, *key: str) -> None:
        """Forget the count of a key, unless Redis does not answer."""
        field = _field(key)
        self._change(lambda: (self._redis.hdel(self._keys[0], field), self._redis.zrem(self._keys[1], field)))

    def clear(self) -> None:
        """Forget all counts, unless Redis does not answer."""
        self._change(lambda: self._redis.delete(*self._keys))

    def _change(self, change: Callable[[], object]) -> None:
        if monotonic() < self._away_until:
            return
        try:
            change()
        except FAULTS as error:
            self._note_fault(error)

    def _note_fault(self, error: Exception) -> None:
        if not self._away_until:
            log.warning("Attempts to sign in are counted in each process (Redis: %s)", type(error).__name__)
        self._away_until = monotonic() + AGAIN_S


def _field(key: tuple[str, ...]) -> str:
    """Return a key in Redis; the lengths keep the parts apart."""
    text = "".join(f"{len(part)}:{part}" for part in key)
    return salted_hmac("loopscope.attempts", text, algorithm="sha256").hexdigest()
