"""The store: however a tape is cut, and however often it is sent, the tables hold the same."""

from dataclasses import fields
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.core.context import JournalLine
from recorder.core.formats.native import parse
from recorder.core.records import EventRecord, Loop, Session, ToolCall, Turn
from recorder.core.state_keys import state_keys_of
from recorder.database import row_mapper
from recorder.ingest.commit.pipeline import Batch, ingest, record
from recorder.models import LoopRecord, Project
from recorder.projection import store
from tests.recorder.core.test_restart import STREAMS
from tests.support.build import line
from tests.support.memory_store import FLUSH
from tests.support.project_digest import digest, records

TAPES = sorted(Path("tests/tapes/phi-core").glob("*.events.jsonl"))
NOW = datetime(2026, 2, 11, 9, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def lines_of(tape):
    return [line for line in tape.read_bytes().splitlines() if line]


def send(project, lines, cuts=(), producer="p", flush=True):
    edges = [0, *sorted({cut % (len(lines) + 1) for cut in cuts}), len(lines)]
    for start, end in pairwise(edges):
        ingest(Batch(project.pk, producer, start, lines[start:end], received_at=NOW))
    if flush:
        ingest(Batch(project.pk, producer, len(lines), [], flush=True, received_at=NOW))


class Projects:
    """Fresh projects, as many as a test asks for."""

    def __init__(self):
        self.made = Project.objects.count()

    def __call__(self):
        self.made += 1
        return Project.objects.create(slug=f"project-{self.made}")


@pytest.fixture
def fresh(db):
    return Projects()


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.stem)
def test_a_tape_sent_line_by_line_gives_what_it_gives_at_once(fresh, tape):
    lines = lines_of(tape)
    whole, cut = fresh(), fresh()

    send(whole, lines)
    send(cut, lines, cuts=range(len(lines)))

    assert records(cut.pk) == records(whole.pk)


@settings(max_examples=60)
@given(tape=st.sampled_from(TAPES), cuts=st.lists(st.integers(0, 10_000), max_size=8))
def test_a_tape_cut_anywhere_gives_the_same_records(fresh, tape, cuts):
    lines = lines_of(tape)
    whole, cut = fresh(), fresh()

    send(whole, lines)
    send(cut, lines, cuts=cuts)

    assert digest(cut.pk) == digest(whole.pk)


@settings(max_examples=150)
@given(stream=STREAMS, cuts=st.sets(st.integers(0, 40)))
def test_any_stream_in_any_batches_gives_the_same_records(fresh, stream, cuts):
    whole, cut = fresh(), fresh()

    play(whole, stream)
    play(cut, stream, cuts)

    assert records(cut.pk) == records(whole.pk)


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.stem)
def test_a_tape_sent_twice_changes_nothing(fresh, tape):
    project, lines = fresh(), lines_of(tape)
    send(project, lines)
    once = records(project.pk)

    send(project, lines, cuts=(7, 11))

    assert records(project.pk) == once


def test_two_projects_do_not_touch_each_other(fresh):
    first, second = fresh(), fresh()
    send(first, lines_of(TAPES[2]))
    alone = records(first.pk)

    send(second, lines_of(TAPES[2]))

    assert records(first.pk) == alone == records(second.pk)


def test_a_record_and_its_table_have_the_same_fields():
    for kind, model in row_mapper.MODELS.items():
        named = {each.name for each in fields(kind)} | {"project"}
        columns = {field.name for field in model._meta.concrete_fields} | {"project"}
        if kind is EventRecord:
            columns = columns - {"journal"} | {"id"}
        if kind is Session:
            columns -= {"pruned_on"}  # which pruning sets, and no line
        assert named == columns, kind


def test_each_column_reads_back_what_was_written(fresh):
    project = fresh()
    send(project, lines_of(TAPES[5]))

    compared = set()
    for kind in row_mapper.MODELS:
        table = row_mapper.table(kind)
        for found in table.select(""):
            compared.add(kind)
            row = table.model.objects.get(pk=found.id)
            names = {
                name: f"{name}_id" if name in table.links or name in ("producer", "price") else name
                for name in table.fields
            }
            names["id"] = "pk"
            assert {name: getattr(found, name) for name in names} == {
                name: getattr(row, column) for name, column in names.items()
            }
    assert compared >= {Session, Loop, Turn, ToolCall, EventRecord}


def test_what_lines_need_is_read_in_a_fixed_number_of_queries(fresh):
    project, lines = fresh(), lines_of(TAPES[2])
    send(project, lines, flush=False)
    few, many = queries(project, lines[:5]), queries(project, lines)
    for turn in range(20):
        send(project, lines, producer=f"p{turn}", flush=False)

    assert many == queries(project, lines)
    assert max(few, many) <= 25


def test_forgotten_records_come_back_under_the_same_keys(fresh):
    project = fresh()
    send(project, lines_of(TAPES[3]))
    keys = sorted(LoopRecord.objects.values_list("id", flat=True))

    kept = store.forget(project.pk)

    assert not records(project.pk)
    assert sorted(kept.loops.values()) == keys


def play(project, stream, cuts=None):
    """Send a stream of two producers in batches that end at `cuts`, everywhere if there are none."""
    batches, waiting = [], []
    for n, (event, producer) in enumerate(stream):
        if event is FLUSH:
            waiting.append(Batch(project.pk, str(producer), None, [], flush=True, received_at=NOW))
        else:
            waiting.append(Batch(project.pk, str(producer), None, [line(event)], received_at=NOW))
        if cuts is None or n in cuts:
            batches.append(waiting)
            waiting = []
    for group in [*batches, waiting]:
        record(group)


def queries(project, lines):
    parsed = [JournalLine(0, 1, NOW, "phi-core", parse(raw)) for raw in lines]
    with CaptureQueriesContext(connection) as captured:
        store.load_state(project.pk, state_keys_of(parsed), {1})
    return len(captured)
