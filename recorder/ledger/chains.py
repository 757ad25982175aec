"""Reads and writes the windows of chains: their state, their blocks and their calls."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q

from recorder.core.content.commands import command_name
from recorder.core.ledger.blocks import Block, Kind
from recorder.core.ledger.tokens import Answer
from recorder.core.ledger.verdicts import Cached
from recorder.core.ledger.window import Entry, Held, NewBlock, Window, numbers_of
from recorder.core.records import Json
from recorder.database import sql
from recorder.ledger.calls import Earlier
from recorder.ledger.turns import Turn
from recorder.models import LedgerBlock, LedgerCall, LedgerChain

_HELD = """SELECT number, "key", kind, name, server, detail, tokens FROM recorder_ledgerblock
WHERE chain_id = %s AND {}"""
_LEAVE = """UPDATE recorder_ledgerblock SET last_call = %s, left_by = %s WHERE chain_id = %s AND {}"""
RESULT = "tool_result"
_MAIN = {False: Q(is_main=True), True: Q(pk__in=())}  # by whether a loop has a chain of its own
Name = tuple[str, str, str]  # kind, name, and server or command of a block, as sums have it


class _Stored(NamedTuple):
    """A stored block of a window."""

    key: str
    kind: Kind
    name: str
    server: str
    detail: str
    tokens: int


@dataclass(slots=True)
class Chain:
    """A chain in memory: its window, its last call, the names of its blocks, and what to write."""

    row: LedgerChain
    window: Window = field(default_factory=Window)
    earlier: Earlier | None = None
    names: dict[int, Name] = field(default_factory=dict)
    _calls: list[LedgerCall] = field(default_factory=list)
    _blocks: dict[int, LedgerBlock] = field(default_factory=dict)  # new ones by number
    _gone: dict[tuple[int, str], list[int]] = field(
        default_factory=dict
    )  # stored ones by last call and cause

    def note(self, turn: Turn, entry: Entry, *, is_recorded: bool, compacted: bool) -> None:
        """Note a call, its new blocks and those that left; `save` writes them."""
        self._blocks |= {new.number: _block_row(self.row, new, entry.number) for new in entry.new}
        for number, cause in entry.left.items():
            if number in self._blocks:
                self._blocks[number].last_call, self._blocks[number].left_by = entry.number - 1, cause
            else:
                self._gone.setdefault((entry.number - 1, cause), []).append(number)
        self._calls.append(_call_row(self.row, turn, entry, is_recorded=is_recorded, compacted=compacted))
        self.earlier = Earlier(turn.loop, turn.start_event, turn.end_event, turn.request_event)
        for number in entry.left:
            del self.names[number]
        self.names |= {new.number: name_of(new.block) for new in entry.new}
        self.row.state = _state(self.window, entry, self.earlier)

    def save(self) -> None:
        """Write what was noted, and the state behind it: three statements, and some for what left."""
        LedgerBlock.objects.bulk_create(self._blocks.values())
        for (last_call, left_by), numbers in self._gone.items():
            sql.write(
                _LEAVE.format(sql.in_list("number")),
                [(last_call, left_by, self.row.pk, sql.list_param(numbers))],
            )
        LedgerCall.objects.bulk_create(self._calls)
        self.row.save(update_fields=("state",))
        self._blocks, self._gone, self._calls = {}, {}, []


def find(turn: Turn) -> Chain:
    """Return the chain that the call of a turn continues, a new one if it continues none."""
    is_own = turn.role != "normal" or turn.continuation_kind == "Branch"
    chains = LedgerChain.objects.filter(session=turn.session, agent_id=turn.agent_id)
    found = list(chains.filter(Q(loop=turn.loop) | _MAIN[is_own]).order_by("-pk"))
    row = next((each for each in found if each.loop == turn.loop), found[0] if found else None)
    if row is None:
        row = LedgerChain.objects.create(
            project_id=turn.project,
            session=turn.session,
            loop=turn.loop,
            agent_id=turn.agent_id,
            is_main=not is_own,
        )
    return load(row)


def load(row: LedgerChain) -> Chain:
    """Return a chain as its last call left it. One query."""
    state = row.state
    if not isinstance(state, dict):
        return Chain(row)
    numbers = numbers_of(state["ranges"])
    rows = sql.read(_HELD.format(sql.in_list("number")), row.pk, sql.list_param(numbers))
    blocks = {number: _Stored(*about) for number, *about in rows}
    held = [Held(number, (of := blocks[number]).key, of.kind, of.tokens) for number in numbers]
    window = Window(
        held=held,
        calls=state["calls"],
        blocks=state["blocks"],
        prompt=state["prompt"],
        answer=Answer(*state["answer"]),
        model=state["model"],
        settings=state["settings"],
        cached=Cached(**state["cached"]),
        started_at=datetime.fromisoformat(state["started_at"]),
    )
    names = {number: name_of(block) for number, block in blocks.items()}
    return Chain(row, window, Earlier(*state["earlier"]), names)


def name_of(block: Block | LedgerBlock | _Stored) -> Name:
    """Return the name of a block in sums: a result of a shell has its command, another one its server."""
    command = command_name(block.name, block.detail) if block.kind == RESULT and not block.server else ""
    return block.kind, block.name, block.server or command


def _state(window: Window, entry: Entry, earlier: Earlier) -> Json:
    assert window.answer is not None
    assert window.started_at is not None
    return {
        "ranges": [list(each) for each in entry.ranges],
        "calls": window.calls,
        "blocks": window.blocks,
        "prompt": window.prompt,
        "answer": list(window.answer),
        "model": window.model,
        "settings": dict(window.settings),
        "cached": asdict(window.cached),
        "started_at": window.started_at.isoformat(),
        "earlier": list(earlier),
    }


def _block_row(chain: LedgerChain, new: NewBlock, call: int) -> LedgerBlock:
    block = new.block
    return LedgerBlock(
        chain=chain,
        session=chain.session,
        number=new.number,
        kind=block.kind,
        name=block.name,
        detail=block.detail,
        server=block.server,
        key=block.key,
        tool_call_id=block.tool_call_id,
        bytes=block.bytes,
        tokens=new.tokens,
        tokens_source=new.source,
        first_call=call,
        event=block.event,
        place=block.place,
    )


def _call_row(
    chain: LedgerChain, turn: Turn, entry: Entry, *, is_recorded: bool, compacted: bool
) -> LedgerCall:
    found = entry.judgement
    return LedgerCall(  # type: ignore[misc]  # two columns hold JSON
        chain=chain,
        session=turn.session,
        loop=turn.loop,
        turn=turn.id,
        number=entry.number,
        end_event=turn.end_event,
        ranges=entry.ranges,
        kinds=dict(entry.kinds),
        known=entry.known,
        is_recorded=is_recorded,
        compacted=compacted,
        verdict=found.verdict,
        prefix_blocks=found.prefix_blocks,
        prefix_tokens=found.prefix_tokens,
        expected_read=found.expected_read,
        lost_tokens=found.lost_tokens,
        idle_s=found.idle_s,
        life_s=found.life_s,
        reason=found.reason,
    )
