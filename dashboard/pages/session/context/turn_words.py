"""The words about the prompt cache in the header of a turn, with a link to the tab Context."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.pages.session.context.words import VERDICTS
from dashboard.rendering.number_format import percent, tokens
from dashboard.web import links
from recorder.core.ledger.verdicts import NO_MISS
from recorder.models import Turn


@dataclass(frozen=True, slots=True)
class CacheWords:
    """`read` is the cached share of the prompt, `missed` the cause of a cache miss, or ""."""

    read: str
    missed: str
    title: str
    url: str


def cache_words(turn: Turn, slug: str, session: int) -> CacheWords | None:
    """Return the words for a turn that was read with the verdict of its call; None without one."""
    verdict: str | None = getattr(turn, "verdict", None)
    uncached = turn.input_tokens if turn.uncached_tokens is None else turn.uncached_tokens
    prompt = uncached + turn.cache_read_tokens + turn.cache_write_tokens
    if not verdict or not prompt:
        return None
    return CacheWords(
        read=percent(turn.cache_read_tokens / prompt),
        missed="" if verdict in NO_MISS else VERDICTS.get(verdict, verdict),
        title=f"What filled the {tokens(prompt)} tokens of this turn",
        url=links.loop(slug, session, turn.loop_id, tab="context", scope=turn.loop_id, turn=turn.ordinal + 1),
    )
