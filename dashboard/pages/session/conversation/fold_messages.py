"""Messages and notes with no call or question between them: of very many all but the last fold. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dashboard.pages.session.conversation import fold_calls
from dashboard.pages.session.conversation.fold_calls import GROUP, Stretch
from dashboard.pages.session.conversation.items import Item, Note, Passage, Passages
from dashboard.pages.session.events.bodies import Body

Address = Callable[[int, int], str]  # of what was told from one event up to another


@dataclass(frozen=True, slots=True)
class Told:
    """A line and what it shows; `kind` is what it counts as, "" if it only goes along with those that count.

    One that `parts` is a call or a question: it is never folded, and nothing is counted across it.
    """

    body: Body
    items: Sequence[Item]
    kind: str = ""  # message note
    parts: bool = False


def folded(told: Sequence[Told], address: Address) -> Iterator[Item]:
    """Yield what lines show, those in long rows as passages that load when they are opened."""
    row: list[Told] = []
    for each in told:
        if each.parts:
            yield from _row(row, address)
            yield from each.items
            row = []
        else:
            row.append(each)
    yield from _row(row, address)


def opened(told: Sequence[Told], first: int, last: int, address: Address) -> Sequence[Item]:
    """Return what a passage from one event up to another holds: items, or smaller passages.

    Raises LookupError where there is no such passage.
    """
    inside = [each for each in told if first <= each.body.id <= last]
    counted = [at for at, each in enumerate(inside) if each.kind]
    if len(counted) not in (GROUP, GROUP * GROUP) or counted[0] or inside[0].body.id != first:
        raise LookupError(first)
    if len(counted) == GROUP:
        return [item for each in inside for item in each.items]
    return [_passages(inside, counted, fold_calls.within(Stretch(0, len(counted))), address)]


def _row(row: Sequence[Told], address: Address) -> Iterator[Item]:
    counted = [at for at, each in enumerate(row) if each.kind]
    stretches = fold_calls.stretches(len(counted))
    start, end = (counted[stretches[0].first], counted[stretches[-1].end]) if stretches else (0, 0)
    yield from (item for each in row[:start] for item in each.items)
    if stretches:
        yield _passages(row, counted, stretches, address)
    yield from (item for each in row[end:] for item in each.items)


def _passages(
    row: Sequence[Told], counted: Sequence[int], stretches: Sequence[Stretch], address: Address
) -> Passages:
    ends = [*counted, len(row)]
    return Passages(tuple(_passage(row[ends[each.first] : ends[each.end]], address) for each in stretches))


def _passage(inside: Sequence[Told], address: Address) -> Passage:
    kinds = [each.kind for each in inside]
    first, last = inside[0].body, inside[-1].body
    return Passage(
        first=first.id,
        messages=kinds.count("message"),
        notes=kinds.count("note"),
        failed=sum(isinstance(item, Note) and item.tone == "error" for each in inside for item in each.items),
        since=first.at,
        until=next(each.body.at for each in reversed(inside) if each.kind),
        dom_id=f"passage-{first.id}-{last.id}",
        url=address(first.id, last.id),
    )
