"""The text that was being written at an event: what had come of it by then, and what its loop was doing."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.recorder import Line, Recorder
from recorder.core.records import Loop, Record, TextBlock, Turn
from recorder.core.state import State
from recorder.database.row_mapper import table
from recorder.database.sql import Value
from recorder.journal.read import texts
from recorder.models import EventRecord
from recorder.projection.as_of.primary_keys import Keys
from recorder.projection.as_of.record_versions import Values, changed

_WHOLE = ("AgentStart", "MessageStart", "MessageEnd", "TurnEnd")  # after these nothing is half written


def streamed(then: Mapping[Record, Values], at: int, keys: Keys) -> dict[Record, Values]:
    """Return the blocks of text of loops that ran, and the records whose activity they tell."""
    turns = {
        turn.loop: turn for turn in then if isinstance(turn, Turn) and _field(turn, "state", then) == "open"
    }
    running = [loop for loop in then if isinstance(loop, Loop) and _field(loop, "status", then) == "running"]
    found: dict[Record, Values] = {}
    for loop in running:
        blocks, activity = _written(loop, _pieces(loop.id, at))
        for block in blocks:
            block.id, block.loop, block.turn = keys.fresh(), loop, turns.get(loop)
            found[block] = table(TextBlock).values(block)
        if blocks:
            found |= {each: changed(each, then[each], "activity", activity) for each in (loop, loop.session)}
    return found


def _pieces(loop: int, at: int) -> Mapping[int, bytes]:
    """Return the pieces that came of a message whose end had not come. Two queries."""
    lines = EventRecord.objects.filter(loop=loop, journal__lte=at).order_by("-journal")
    whole = lines.filter(type__in=_WHOLE).values_list("pk", flat=True).first() or 0
    return texts(lines.filter(type="MessageUpdate", journal__gt=whole).values_list("pk", flat=True))


def _written(loop: Loop, pieces: Mapping[int, bytes]) -> tuple[list[TextBlock], str]:
    """Return what a recorder makes of some pieces, and what it says the loop is doing."""
    state, writer = State(), copy(loop)
    writer.session, writer.status, writer.group = copy(loop.session), "running", None
    state.index_started(writer)
    recorder = Recorder(state)
    for pk, raw in pieces.items():
        recorder.feed(Line(pk, loop.producer, loop.session.created_at, "", parse(raw, limits=NO_LIMITS)))
    return state.text_blocks.get(writer, []), writer.activity


def _field(record: Record, name: str, then: Mapping[Record, Values]) -> Value:
    return then[record][table(type(record)).fields.index(name)]
