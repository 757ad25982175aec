"""Cuts the tokens of a long text into parts that every database can index, with an overlap for phrases.

Limits of a PostgreSQL `tsvector`: positions up to 16,383, at most 255 of one word (more are dropped without a
word), 1 MB in all (PostgreSQL manual, 12.11). Parts are the same on all databases, and so are the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from recorder.core.search.tokens import SEPARATOR

PART_TOKENS = 8_000
SAME_TOKENS = 250  # of one word in a part
OVERLAP = 40  # longest phrase that is found across two parts
EXACT_PARTS = 100  # of one text, that have every token


def chunks(tokens: Sequence[str]) -> list[Sequence[str]]:
    """Return the tokens in parts, each with the last `OVERLAP` tokens of the part before.

    Parts end before a word would be in them too often. Behind `EXACT_PARTS`, in a text that repeats few
    words very often, they are of full length instead and lack what is too often.
    """
    found: list[Sequence[str]] = []
    begin = 0
    while begin < len(tokens):
        part = tokens[begin : begin + PART_TOKENS]
        if len(found) < EXACT_PARTS:
            part = part[: _exact(part)]
        found.append(part if len(found) < EXACT_PARTS else _without_repeats(part))
        end = begin + len(part)
        if end >= len(tokens):
            break
        begin = end - OVERLAP
    return found


def _exact(tokens: Sequence[str]) -> int:
    """Return how many tokens come before the first that occurs more than `SAME_TOKENS` times."""
    if len(tokens) <= SAME_TOKENS or max(Counter(tokens).values()) <= SAME_TOKENS:
        return len(tokens)
    seen: Counter[str] = Counter()
    for at, token in enumerate(tokens):
        seen[token] += token != SEPARATOR
        if seen[token] > SAME_TOKENS:
            return at
    return len(tokens)


def _without_repeats(tokens: Sequence[str]) -> Sequence[str]:
    """Return tokens with a separator in place of those that occur more than `SAME_TOKENS` times before."""
    seen: Counter[str] = Counter()
    kept: list[str] = []
    for token in tokens:
        seen[token] += token != SEPARATOR
        if seen[token] <= SAME_TOKENS:
            kept.append(token)
        elif kept[-1] != SEPARATOR:
            kept.append(SEPARATOR)
    return kept
