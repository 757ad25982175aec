"""Two texts compared word by word. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from dashboard.rendering.sequence_match import longest_common_subsequence

COMPARED = 4_000  # words and marks of a text: comparing costs their product
PIECE = re.compile(r"(?:\d+(?:[.,]\d+)*|\w+|[^\w\s])\s*")
STRAY = 2  # words in common that stand alone between larger changes say nothing

How = Literal["same", "here", "there"]  # in both, only in this text, only in the other
Match = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of text, and where it stands."""

    how: How
    text: str


def changes(text: str, other: str) -> Sequence[Stretch]:
    """Return `text` with what `other` has instead: first what is only there, then what is only here."""
    here, there = PIECE.findall(text)[:COMPARED], PIECE.findall(other)[:COMPARED]
    common = longest_common_subsequence([piece.strip() for piece in here], [piece.strip() for piece in there])
    return list(_joined(_stretches(here, there, _without_strays(common, len(here), len(there)))))


def is_cut(text: str) -> bool:
    """Say whether a text has more than is compared of it."""
    return len(text) > COMPARED and len(PIECE.findall(text)) > COMPARED


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


def _joined(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """Join what stands side by side in the same way."""
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
