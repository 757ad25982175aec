"""The spans of a unit by their parents, and for each the nearest span of some kind above it.

Each answer is found for all spans at once, parents first: a long chain of spans costs each of them once.
Of spans that form a circle the one with the first key counts as one without a parent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from recorder.core.formats.otlp.plan.calls import Key, key_of
from recorder.core.formats.otlp.spans.digest import Digest


class Forest:
    """Spans, given by key, with their children and parents."""

    def __init__(self, spans: Mapping[Key, Digest]) -> None:
        self._spans = spans
        self.children: dict[Key, list[Digest]] = defaultdict(list)
        for span in spans.values():
            self.children[span.trace, span.parent].append(span)
        self.outer_first: list[Digest] = []
        self._tops: set[Key] = set()
        self._order()

    def parent(self, span: Digest) -> Digest | None:
        """Return the span above a span or log record; None if there is none, or it closes a circle."""
        if not span.parent or (not span.is_log and key_of(span) in self._tops):
            return None
        return self._spans.get((span.trace, span.parent))

    def above(self, span: Digest) -> Iterator[Digest]:
        """Yield the spans above one, the nearest first."""
        while (parent := self.parent(span)) is not None:
            yield parent
            span = parent

    def nearest(self, is_wanted: Callable[[Digest], bool]) -> Callable[[Digest], Digest | None]:
        """Return the function that returns the nearest wanted span above one."""
        found: dict[Key, Digest | None] = {}

        def above(span: Digest) -> Digest | None:
            parent = self.parent(span)
            return parent if parent is None or is_wanted(parent) else found[key_of(parent)]

        for span in self.outer_first:
            found[key_of(span)] = above(span)
        return above

    def _order(self) -> None:
        """Order the spans so that each follows its parent."""
        seen: set[Key] = set()
        for span in self._spans.values():
            if not span.parent or (span.trace, span.parent) not in self._spans:
                self._add_below(span, seen)
        for key in sorted(self._spans.keys() - seen):
            if key not in seen:
                self._add_below(self._spans[key], seen)

    def _add_below(self, top: Digest, seen: set[Key]) -> None:
        self._tops.add(key_of(top))
        waiting = [top]
        while waiting:
            span = waiting.pop()
            seen.add(key_of(span))
            self.outer_first.append(span)
            waiting += [each for each in self._own(span) if key_of(each) not in seen]

    def _own(self, span: Digest) -> Iterable[Digest]:
        return self.children.get(key_of(span), ()) if span.id else ()
