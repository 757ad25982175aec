"""Word diff of two texts, by their longest common subsequence. Pure.

Short common runs between larger changes are treated as changed, because single shared words make a
diff unreadable.
Invariant: the "same" and "here" stretches, joined, are the first COMPARED tokens of `text`.
Cost: the product of the numbers of tokens, at most COMPARED squared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from dashboard.rendering.sequence_match import longest_common_subsequence

COMPARED = 4_000  # maximum number of tokens of a text
TOKEN = re.compile(r"(?:\d+(?:[.,]\d+)*|\w+|[^\w\s])\s*")
STRAY = 2  # a common run of at most so many tokens, shorter than the changes around it, is dropped

How = Literal["same", "here", "there"]  # in both, only in this text, only in the other
Match = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the diff and the side it belongs to."""

    how: How
    text: str


def changes(text: str, other: str) -> Sequence[Stretch]:
    """Return the diff from `other` to `text`: at each change first the removed, then the added words."""
    here, there = TOKEN.findall(text)[:COMPARED], TOKEN.findall(other)[:COMPARED]
    common = longest_common_subsequence([token.strip() for token in here], [token.strip() for token in there])
    return list(_join(_stretches(here, there, _without_strays(common, len(here), len(there)))))


def is_cut(text: str) -> bool:
    """Whether a text has more tokens than are compared."""
    return len(text) > COMPARED and len(TOKEN.findall(text)) > COMPARED


def _without_strays(common: Sequence[Match], here: int, there: int) -> Iterator[Match]:
    runs = list(_runs(common))
    edges = [(-1, -1), *(edge for run in runs for edge in (run[0], run[-1])), (here, there)]
    sizes = [max(i2 - i1, j2 - j1) - 1 for (i1, j1), (i2, j2) in pairwise(edges)][::2]
    for run, before, after in zip(runs, sizes, sizes[1:], strict=False):
        if len(run) > STRAY or len(run) >= before or len(run) >= after:
            yield from run


def _runs(common: Iterable[Match]) -> Iterator[list[Match]]:
    run: list[Match] = []
    for i, j in common:
        if run and run[-1] != (i - 1, j - 1):
            yield run
            run = []
        run.append((i, j))
    if run:
        yield run


def _stretches(here: Sequence[str], there: Sequence[str], common: Iterable[Match]) -> Iterator[Stretch]:
    i = j = 0
    for next_i, next_j in (*common, (len(here), len(there))):
        yield Stretch("there", "".join(there[j:next_j]))
        yield Stretch("here", "".join(here[i:next_i]))
        yield Stretch("same", "".join(here[next_i : next_i + 1]))
        i, j = next_i + 1, next_j + 1


def _join(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """Join adjacent stretches of the same side."""
    how: How = "same"
    texts: list[str] = []
    for stretch in stretches:
        if not stretch.text:
            continue
        if stretch.how != how and texts:
            yield Stretch(how, "".join(texts))
            texts = []
        how = stretch.how
        texts.append(stretch.text)
    if texts:
        yield Stretch(how, "".join(texts))
