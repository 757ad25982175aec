"""The changes of a page drawn for a share link: texts are masked whole, before they are cut.

`dashboard/pages/share` sets it while a page or panel is drawn. A part of a text may hold a part of a value,
which no rule recognises; so whatever cuts a text asks here first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Masks:
    """The masking of a link.

    It masks a text, a recorded line, whose keys name what its values are, and the parts of a text that is
    still arriving.
    """

    text: Callable[[str], str]
    line: Callable[[bytes], bytes]
    stream: Callable[[Sequence[str]], Sequence[str]]


_masks: ContextVar[Masks | None] = ContextVar("masks", default=None)


@contextmanager
def render_masked(masks: Masks) -> Iterator[None]:
    """Within the context, pages are drawn for a share link with these masks."""
    token = _masks.set(masks)
    try:
        yield
    finally:
        _masks.reset(token)


def is_shared() -> bool:
    """Whether the page is drawn for a share link."""
    return _masks.get() is not None


def masked_text(text: str) -> str:
    """Return a whole text as the page may show it."""
    masks = _masks.get()
    return text if masks is None else masks.text(text)


def masked_line(line: bytes) -> bytes:
    """Return a recorded line as the page may show it."""
    masks = _masks.get()
    return line if masks is None else masks.line(line)


def masked_stream(parts: Sequence[str]) -> Sequence[str]:
    """Return the parts of a text that is still arriving as the page may show them."""
    masks = _masks.get()
    return parts if masks is None else masks.stream(parts)
