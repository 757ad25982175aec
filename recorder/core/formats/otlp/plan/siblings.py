"""Spans beside each other that two instrumentations write of one model call or tool call.

One instrumentation wraps the other's function, so one span lies within the time of the other. Both name one
model or tool, and neither contradicts the other. Spans of one scope are calls of their own, and a span has
at most one of each other scope.

A model span may also be the sum of all others of its scope in its trace, beside or above whose parents it is.

Cost: linear in the number of spans, but for sorting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from recorder.core.formats.otlp.spans.digest import Digest

_Mark = tuple[object, ...]


def model_pairs(models: Iterable[Digest]) -> Iterator[tuple[Digest, Digest]]:
    """Yield model spans with the span beside them that is the same call and has more of it."""
    for spans in _beside(models, lambda span: (span.trace, span.parent)):
        yield from _of_parent(spans, _model_marks, _is_one_call)


def tool_pairs(tools: Iterable[Digest]) -> Iterator[tuple[Digest, Digest]]:
    """Yield tool spans with the span beside them that is the same call and is more likely to name it."""
    for spans in _beside(tools, lambda span: (span.trace, span.parent, span.name)):
        yield from _of_parent(spans, _tool_marks, _is_one_tool)


def sums(models: Iterable[Digest]) -> Iterator[Digest]:
    """Yield model spans that are the sum of the others of their scope in their trace; at most one of each."""
    found: dict[_Mark, list[Digest]] = defaultdict(list)
    for span in models:
        if span.usage is not None:
            found[span.trace, span.emitter].append(span)
    for spans in found.values():
        last = max(spans, key=lambda span: (_figures(span), span.end - span.start, span.id))
        parts = [span for span in spans if span is not last]
        if parts and _is_sum(last, parts):
            yield last


def _is_sum(span: Digest, parts: Sequence[Digest]) -> bool:
    """Return whether a span has the figures of all parts, in whose time they are.

    Of one part something else must say so: equal calls may run at one time.
    """
    if not all(span.start <= part.start and part.end <= span.end for part in parts):
        return False
    figures = [each for part in parts if (each := _figures(part)) is not None]
    if _figures(span) != (sum(each[0] for each in figures), sum(each[1] for each in figures)):
        return False
    is_bare = not (span.has_text or span.response or span.finish or span.error)
    first = parts[0]
    return is_bare and (len(parts) > 1 or (span.name != first.name and span.parent != first.parent))


def _beside(spans: Iterable[Digest], place_of: Callable[[Digest], _Mark]) -> Iterator[list[Digest]]:
    """Yield spans of one place that several scopes emit."""
    found: dict[_Mark, list[Digest]] = defaultdict(list)
    for span in spans:
        found[place_of(span)].append(span)
    yield from (each for each in found.values() if len({span.emitter for span in each}) > 1)


def _of_parent(
    spans: Sequence[Digest],
    marks_of: Callable[[Digest], Sequence[_Mark]],
    is_one: Callable[[Digest, Digest], bool],
) -> Iterator[tuple[Digest, Digest]]:
    by_emitter: dict[str, list[Digest]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.id)):
        by_emitter[span.emitter].append(span)
    fullest, *others = sorted(by_emitter, key=lambda emitter: (_lacks(by_emitter[emitter]), emitter))
    by_mark: dict[_Mark, list[Digest]] = defaultdict(list)
    for span in by_emitter[fullest]:
        for mark in {*marks_of(span), ()}:
            by_mark[mark].append(span)
    for emitter in others:
        taken: set[str] = set()
        at: dict[_Mark, int] = defaultdict(int)
        for span in by_emitter[emitter]:
            for mark in (*marks_of(span), ()):
                candidates = by_mark.get(mark, [])
                while at[mark] < len(candidates) and _is_past(candidates[at[mark]], span, taken):
                    at[mark] += 1
                if at[mark] < len(candidates) and is_one(span, other := candidates[at[mark]]):
                    taken.add(other.id)
                    yield span, other
                    break


def _is_past(other: Digest, span: Digest, taken: set[str]) -> bool:
    return other.id in taken or other.end < span.start


def _lacks(spans: Sequence[Digest]) -> tuple[int, ...]:
    """Return the sort key of the spans of a scope by what they say; those that say most come first."""
    said = [(span.has_text, bool(span.call), span.usage is not None) for span in spans]
    return tuple(-sum(column) for column in zip(*said, strict=True))


def _model_marks(span: Digest) -> list[_Mark]:
    figures = _figures(span)
    return [(figures, span.answer), (figures, "")] if span.answer else [(figures, "")]


def _tool_marks(span: Digest) -> list[_Mark]:
    return [(mark,) for mark in (span.call, *span.asks) if mark]


def _figures(span: Digest) -> tuple[int, int] | None:
    return (span.usage["total_in"], span.usage["output"]) if span.usage is not None else None


def _is_one_call(span: Digest, other: Digest) -> bool:
    """Return whether model spans are of one call: something must say so besides their time."""
    usages = _figures(span), _figures(other)
    both = (usages, (span.answer, other.answer), (span.response, other.response))
    stated = [one == two for one, two in both if one and two]
    is_stated = bool(stated) or bool(span.error) or (usages[0] is None) != (usages[1] is None)
    agrees = all(stated) and bool(span.error) == bool(other.error) and _is_one_model(span, other)
    return is_stated and agrees and _is_within(span, other) and not _are_of_two(span, other)


def _is_one_tool(span: Digest, other: Digest) -> bool:
    both = (span.call, other.call), (span.asks, other.asks)
    return all(one == two for one, two in both if one and two) and _is_within(span, other)


def _is_within(span: Digest, other: Digest) -> bool:
    """Return whether one of two spans lies within the time of the other."""
    inner, outer = sorted((span, other), key=lambda each: each.end - each.start)
    return outer.start <= inner.start and inner.end <= outer.end


def _are_of_two(span: Digest, other: Digest) -> bool:
    both = (span.session, other.session), (span.user, other.user)
    return any(one != two for one, two in both if one and two)


def _is_one_model(span: Digest, other: Digest) -> bool:
    """Return whether two names are of one model: one may have a date behind it, or a provider before it."""
    one, two = (each.model.lower().rpartition("/")[2] for each in (span, other))
    return one.startswith(two) or two.startswith(one)
