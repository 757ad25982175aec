"""Folds long runs of messages and notes into passages that load on demand. Pure.

A run is a sequence of lines without a tool call or approval between them. Each run is divided by the rules of
`fold_calls`, applied to its counted lines only: lines with a `kind`. Uncounted lines (starts, tool results)
belong to the passage of the counted line before them. Invariant: a passage is identified by its first and
last event and keeps its content when lines are appended. Cost: O(lines).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dashboard.pages.session.conversation import fold_calls
from dashboard.pages.session.conversation.fold_calls import GROUP, Stretch
from dashboard.pages.session.conversation.items import Item, Note, Passage, Passages
from dashboard.pages.session.events.bodies import Body

Address = Callable[[int, int], str]  # the URL of a passage, by its first and last event


@dataclass(frozen=True, slots=True)
class LineItems:
    """A recorded line and its items. `kind` is "" for lines that are not counted.

    With `parts` the line is a tool call or an approval request: it is never folded and separates two runs.
    """

    body: Body
    items: Sequence[Item]
    kind: str = ""  # message note
    parts: bool = False


def fold_runs(lines: Sequence[LineItems], address: Address) -> Iterator[Item]:
    """Yield the items of lines, with long runs replaced by passages."""
    run: list[LineItems] = []
    for line in lines:
        if line.parts:
            yield from _fold_run(run, address)
            yield from line.items
            run = []
        else:
            run.append(line)
    yield from _fold_run(run, address)


def passage_content(lines: Sequence[LineItems], first: int, last: int, address: Address) -> Sequence[Item]:
    """Return the content of the passage from event `first` to event `last`: items, or smaller passages.

    Raises LookupError if there is no such passage.
    """
    inside = [line for line in lines if first <= line.body.id <= last]
    counted = [at for at, line in enumerate(inside) if line.kind]
    if len(counted) not in (GROUP, GROUP * GROUP) or counted[0] or inside[0].body.id != first:
        raise LookupError(first)
    if len(counted) == GROUP:
        return [item for line in inside for item in line.items]
    return [_passages(inside, counted, fold_calls.small_groups(Stretch(0, len(counted))), address)]


def _fold_run(run: Sequence[LineItems], address: Address) -> Iterator[Item]:
    counted = [at for at, line in enumerate(run) if line.kind]
    groups = fold_calls.groups_of(len(counted))
    start, end = (counted[groups[0].first], counted[groups[-1].end]) if groups else (0, 0)
    yield from (item for line in run[:start] for item in line.items)
    if groups:
        yield _passages(run, counted, groups, address)
    yield from (item for line in run[end:] for item in line.items)


def _passages(
    run: Sequence[LineItems], counted: Sequence[int], groups: Sequence[Stretch], address: Address
) -> Passages:
    ends = [*counted, len(run)]
    return Passages(
        tuple(_passage(run[ends[stretch.first] : ends[stretch.end]], address) for stretch in groups)
    )


def _passage(inside: Sequence[LineItems], address: Address) -> Passage:
    kinds = [line.kind for line in inside]
    first, last = inside[0].body, inside[-1].body
    return Passage(
        first=first.id,
        messages=kinds.count("message"),
        notes=kinds.count("note"),
        failed=sum(isinstance(item, Note) and item.tone == "error" for line in inside for item in line.items),
        since=first.at,
        until=next(line.body.at for line in reversed(inside) if line.kind),
        dom_id=f"passage-{first.id}-{last.id}",
        url=address(first.id, last.id),
    )
