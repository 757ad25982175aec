"""Streaming text in blocks: one panel per block, the same on every page that shows the turn.

Only the last block of a message grows, so each redraw sends one block of limited size, not the whole message.
Through a share link that masks, the end of a message waits until it is complete (`masked_stream`).

Cost: one query for any number of blocks or turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from django.db.models import QuerySet

from dashboard.live.panel import Panel
from dashboard.rendering.shared_page import masked_stream
from dashboard.shared.compiled_query import compiled
from recorder.core.content.text import clean
from recorder.models import TextBlock

ORDER = ("loop_id", "message", "part")  # of the text


@dataclass(frozen=True, slots=True)
class Block:
    """A block of streamed text; root of the panel _shared/text-block."""

    pk: int
    into: str
    kind: str
    text: str
    is_first: bool

    @property
    def dom_id(self) -> str:
        return BLOCK.dom_id(self.pk)


Blocks = Mapping[int, tuple[Block, ...]]  # by the first event of their message


def blocks(pks: Collection[int]) -> Mapping[int, Block]:
    """Return blocks by primary key. One query."""
    return {block.pk: block for block in _owner_of_blocks(_siblings(pks)) if block.pk in pks}


BLOCK = Panel("_shared/text-block", blocks)


def of_turns(turns: Collection[int]) -> Mapping[int, Blocks]:
    """Return the blocks of each turn. One query."""
    return _blocks_by_owner(_owner_of_blocks(_of_turns(turns)))


def outside_turns(loops: Collection[int]) -> Mapping[int, Blocks]:
    """Return the blocks of each loop that belong to no turn. One query."""
    return _blocks_by_owner(_owner_of_blocks(_of_no_turn(loops)))


@compiled
def _siblings(pks: Collection[int]) -> QuerySet[TextBlock]:
    chosen = TextBlock.objects.filter(pk__in_list=pks)
    siblings = TextBlock.objects.filter(message__in=chosen.values("message"), loop__in=chosen.values("loop"))
    return siblings.order_by(*ORDER)


@compiled
def _of_turns(turns: Collection[int]) -> QuerySet[TextBlock]:
    return TextBlock.objects.filter(turn__in_list=turns).order_by(*ORDER)


@compiled
def _of_no_turn(loops: Collection[int]) -> QuerySet[TextBlock]:
    return TextBlock.objects.filter(loop__in_list=loops, turn=None).order_by(*ORDER)


def _blocks_by_owner(made: Mapping[Block, tuple[int, int]]) -> Mapping[int, Blocks]:
    owners: dict[int, dict[int, tuple[Block, ...]]] = defaultdict(dict)
    for block, (owner, message) in made.items():
        owners[owner][message] = (*owners[owner].get(message, ()), block)
    return owners


def _owner_of_blocks(records: Iterable[TextBlock]) -> Mapping[Block, tuple[int, int]]:
    """Return blocks in the order of their records, each with its turn, else its loop, and its message."""
    made: dict[Block, tuple[int, int]] = {}
    kinds: dict[tuple[int, int], str] = {}
    for record, text in _texts(records):
        message = record.loop_id, record.message
        into = f"stream-{record.turn_id}" if record.turn_id else f"loose-{record.loop_id}"
        is_first = kinds.get(message) != record.kind
        kinds[message] = record.kind
        block = Block(record.pk, into, record.kind, text, is_first)
        made[block] = record.turn_id or record.loop_id, record.message
    return made


def _texts(records: Iterable[TextBlock]) -> Iterator[tuple[TextBlock, str]]:
    """Yield records with their texts as the page may show them; a message has one text of each kind."""
    for _, found in groupby(records, lambda record: (record.loop_id, record.message, record.kind)):
        group = list(found)
        yield from zip(group, masked_stream([clean(record.text) for record in group]), strict=True)
