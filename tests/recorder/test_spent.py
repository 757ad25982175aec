"""The sums of what a project spends: however lines come in, they are those of its turns and loops."""

from collections import defaultdict

import pytest
from django.db.models import Q

from recorder.models import LoopRecord, Spending, Turn
from recorder.spent import FIGURES
from tests.recorder.test_store import TAPES, Projects, lines_of, send

pytestmark = pytest.mark.django_db
BUCKETS = [name for name in FIGURES if name.endswith("_tokens")]


@pytest.fixture
def fresh(db):
    return Projects()


def kept(project):
    rows = Spending.objects.filter(project=project)
    sums = {
        (row.hour, row.config_id, row.agent_id, row.segment): {name: getattr(row, name) for name in FIGURES}
        for row in rows
    }
    return {key: figures for key, figures in sums.items() if any(figures.values())}


def added_up(project):
    """Return the same from the records themselves."""
    sums = defaultdict(lambda: dict.fromkeys(FIGURES, 0))
    turns = Turn.objects.filter(loop__session__project=project, state="done").select_related("loop")
    for turn in turns:
        row = sums[place(turn, turn.loop)]
        row["turns"] += 1
        call(row, turn)
    ended = LoopRecord.objects.filter(~Q(status__in=("pending", "running")), session__project=project)
    for loop in ended:
        row = sums[place(loop, loop)]
        row["loops"] += 1
        row["errors"] += loop.errors
        row["failed"] += loop.outcome == "failed"
        if loop.is_one_call:
            call(row, loop)
    return dict(sums)


def place(record, loop):
    hour = record.ended_at.replace(minute=0, second=0, microsecond=0)
    return hour, record.config_id, loop.agent_id, loop.segment


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

    assert kept(whole) == added_up(whole)
    assert kept(cut) == added_up(cut)
    assert kept(whole)
