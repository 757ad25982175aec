"""Lines are restored byte for byte, however they were sent and whatever failed."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest, record
from recorder.journal import append
from recorder.journal.delta.encoding import sources
from recorder.journal.read import texts
from recorder.models import JournalEvent, Project
from recorder.operations.integrity_check import findings
from tests.phi_core.scenarios import FOLDER
from tests.recorder.journal.tamper import tampering
from tests.support.long_loop import LongLoop

pytestmark = pytest.mark.django_db(transaction=True)

TAPE = (FOLDER / "06-compaction-block-based.events.jsonl").read_bytes().splitlines()


@pytest.fixture
def project():
    return Project.objects.create(slug="default").pk


def stored(**of):
    return list(texts(JournalEvent.objects.filter(**of).values_list("pk", flat=True)).values())


def sources_of_lines():
    """Return what each line that is in pieces is made of."""
    rows = JournalEvent.objects.exclude(pieces=None).values_list("pk", "pieces")
    return {pk: sources(pk, pieces) for pk, pieces in rows}


@settings(max_examples=8)
@given(st.lists(st.tuples(st.integers(0, 86), st.integers(1, 40)), max_size=6), st.integers(1, 30))
def test_a_stream_comes_back_however_it_was_cut_and_repeated(sends, size):
    project = Project.objects.create(slug=f"p{Project.objects.count()}").pk
    for first, count in [*sends, *((at, size) for at in range(0, len(TAPE), size))]:
        record([Batch(project, "p", first, TAPE[first : first + count])])

    assert stored(project=project) == TAPE
    assert list(findings()) == []


def test_lines_are_read_in_one_query_however_much_they_are_made_of(project, django_assert_num_queries):
    lines = list(LongLoop(30).lines())
    ingest(Batch(project, "p", 0, lines))
    newest = JournalEvent.objects.order_by("-pk").values_list("pk", flat=True)[:200]
    pks = list(newest)

    with django_assert_num_queries(1):
        found = texts(pks)

    assert list(found.values()) == lines[-200:]
    assert len(sources_of_lines()) > 200


def test_lines_that_are_not_there_are_left_out(project):
    ingest(Batch(project, "p", 0, TAPE[:1]))

    assert texts([]) == {}
    assert texts([0]) == {}


def test_a_delta_encoded_line_conflicts_only_with_another_line(project):
    ingest(Batch(project, "p", 0, TAPE))
    again = ingest(Batch(project, "p", 0, TAPE))
    changed = ingest(Batch(project, "p", 0, [line.replace(b"Message", b"message") for line in TAPE]))

    assert (again.duplicates, again.rejected) == (len(TAPE), [])
    assert {each.code for each in changed.rejected} == {"seq_conflict"}
    assert len(changed.rejected) == sum(b"Message" in line for line in TAPE)


def test_nothing_is_made_of_lines_that_were_never_committed(project, monkeypatch):
    ingest(Batch(project, "p", 0, TAPE[:40]))
    monkeypatch.setattr(append.Journal, "write", _fails)
    with pytest.raises(ZeroDivisionError):
        ingest(Batch(project, "p", 40, TAPE[40:]))
    monkeypatch.undo()

    ingest(Batch(project, "p", 40, TAPE[40:]))

    assert stored() == TAPE
    known = set(JournalEvent.objects.values_list("pk", flat=True))
    assert all(of <= known for of in sources_of_lines().values())


def _fails(_):
    raise ZeroDivisionError


def test_producers_are_not_made_of_each_other(project):
    record([Batch(project, name, 0, TAPE) for name in ("p", "q")])

    owner = dict(JournalEvent.objects.values_list("pk", "producer"))
    assert {owner[pk] == owner[source] for pk, of in sources_of_lines().items() for source in of} == {True}
    assert stored() == TAPE * 2


def test_days_are_not_made_of_each_other(project):
    yesterday = timezone.now() - timedelta(days=1)
    ingest(Batch(project, "p", 0, TAPE[:40], received_at=yesterday))
    ingest(Batch(project, "p", 40, TAPE[40:]))

    JournalEvent.objects.filter(seq__lt=40).delete()

    assert stored() == TAPE[40:]


def test_damage_is_found(project):
    ingest(Batch(project, "p", 0, TAPE))
    of = next(of for of in sources_of_lines().values() if of)
    with tampering():
        JournalEvent.objects.filter(pk=min(of)).update(own=b"")

    problems = [finding for finding in findings() if finding.startswith("journal: line")]

    assert problems
    assert all("cannot be restored" in finding for finding in problems)


def test_a_line_of_another_day_is_found(project):
    ingest(Batch(project, "p", 0, TAPE))
    with tampering():
        JournalEvent.objects.filter(seq=0).update(received_at=timezone.now() - timedelta(days=1))
    made_of_it = [pk for pk, of in sources_of_lines().items() if JournalEvent.objects.get(seq=0).pk in of]

    problems = [finding for finding in findings() if "cannot be restored" in finding]

    assert len(problems) == len(made_of_it) > 0
