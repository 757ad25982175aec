"""Spending rollups equal the sums of the turns and loops, in any batching."""

from collections import defaultdict

import pytest
from django.db.models import Q
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.models import LoopRecord, Spending, Turn
from recorder.pricing.rollups import FIGURES
from recorder.projection.rebuild import rebuild
from tests.recorder.projection.test_store import TAPES, Projects, lines_of, send
from tests.support.build import (
    agent_end,
    agent_start,
    line,
    parallel_end,
    parallel_start,
    turn_end,
    turn_start,
    usage,
)

pytestmark = pytest.mark.django_db
BUCKETS = [name for name in FIGURES if name.endswith("_tokens")]


@pytest.fixture
def fresh(db):
    return Projects()


def stored_sums(project):
    """Return all rows: none is left of what moved to another segment."""
    sums = {}
    for row in Spending.objects.filter(project=project):
        place = row.span, row.start, row.config_id, row.agent_id, row.segment
        sums[place] = {name: getattr(row, name) for name in FIGURES}
    return sums


def added_up(project):
    """Return the same from the records themselves."""
    sums = defaultdict(lambda: dict.fromkeys(FIGURES, 0))
    turns = Turn.objects.filter(loop__session__project=project, state="done").select_related("loop")
    for turn in turns:
        for row in (sums[place] for place in places(turn, turn.loop)):
            row["turns"] += 1
            call(row, turn)
    ended = LoopRecord.objects.filter(~Q(status__in=("pending", "running")), session__project=project)
    for loop in ended:
        for row in (sums[place] for place in places(loop, loop)):
            row["loops"] += 1
            row["errors"] += loop.errors
            row["failed"] += loop.outcome == "failed"
            if loop.is_one_call:
                call(row, loop)
    return dict(sums)


def places(record, loop):
    hour = (record.ended_received_at or record.ended_at).replace(minute=0, second=0, microsecond=0)
    where = record.config_id, loop.agent_id, loop.segment
    return ("hour", hour, *where), ("day", hour.replace(hour=0), *where)


def call(row, record):
    row["cost_nano"] += record.cost_nano or 0
    row["priced"] += record.cost_nano is not None
    row["reported"] += record.cost_source == "reported"
    row["unpriced"] += record.unpriced
    row["unreconciled"] += record.unreconciled
    for name in () if record.unreconciled else BUCKETS:
        row[name] += getattr(record, name)


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.stem)
def test_the_sums_of_a_tape_are_those_of_its_records_however_it_is_cut(fresh, tape):
    lines = lines_of(tape)
    whole, cut = fresh(), fresh()

    send(whole, lines)
    send(cut, lines, cuts=range(len(lines)))

    assert stored_sums(whole) == added_up(whole)
    assert stored_sums(cut) == added_up(cut)
    assert stored_sums(whole)


CONFIGS = [
    {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"},
    {"model": "gpt-4o", "provider": "openai", "api": "open_ai_completions"},
    {"model": "new", "provider": "acme"},
]
COUNTS = st.integers(0, 300_000)
USAGE = st.builds(usage, COUNTS, cache_read=COUNTS, cache_write=COUNTS, output=COUNTS, reasoning=COUNTS)


@st.composite
def streams(draw):
    """Return a parallel group and what its loops spend, in any order; whatever ends, or does not."""
    loops = ["s.a.1", "s.b.2"]
    events = [parallel_start(*loops)] if draw(st.booleans()) else []
    events += [agent_start(loop, config_snapshot=draw(st.sampled_from(CONFIGS))) for loop in loops]
    for _ in range(draw(st.integers(0, 6))):
        loop, at, reported = (
            draw(st.sampled_from(loops)),
            draw(st.integers(0, 9_000)),
            draw(st.none() | st.just("0.5")),
        )
        events += [turn_start(loop), {**turn_end(loop, at=at, cost=reported), "usage": draw(USAGE)}]
    for loop in draw(st.permutations(loops)):
        end = {**agent_end(loop, at=draw(st.integers(0, 9_000))), "usage": draw(USAGE)}
        events += [end] if draw(st.booleans()) else []
    return [*events, parallel_end(draw(st.sampled_from(loops)))] if draw(st.booleans()) else events


@settings(max_examples=25, deadline=None)
@given(streams(), st.lists(st.integers(0, 30)), st.booleans())
def test_whatever_comes_the_sums_are_those_of_the_records(events, cuts, flush):
    project = Projects()()
    send(project, [line(event) for event in events], cuts=cuts, flush=flush)

    assert stored_sums(project) == added_up(project)
    rebuild(project)
    assert stored_sums(project) == added_up(project)
