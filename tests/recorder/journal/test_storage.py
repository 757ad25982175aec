"""Size of the journal: little more than the unique content, however often agents repeat it."""

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.models import JournalEvent, Project
from tests.phi_core.scenarios import FOLDER
from tests.support.journal_bytes import allowed, journal_bytes
from tests.support.long_loop import LongLoop

AT_ONCE = 100
TIMES = 8  # each in a project of its own, so that pages which are half empty do not decide

pytestmark = pytest.mark.django_db(transaction=True)


def stored(lines, times):
    """Record lines so many times; return the bytes that all of them may take."""
    for n in range(times):
        project = Project.objects.create(slug=f"p{n}")
        for first in range(0, len(lines), AT_ONCE):
            ingest(Batch(project.pk, "p", first, lines[first : first + AT_ONCE]))
    found = texts(JournalEvent.objects.values_list("pk", flat=True))
    assert list(found.values()) == lines * times
    return allowed(lines) * times


@pytest.mark.parametrize("scenario", ["06-compaction-block-based", "07-compaction-in-memory"])
def test_a_scenario_with_requests_and_compactions_takes_what_is_promised(scenario):
    lines = (FOLDER / f"{scenario}.events.jsonl").read_bytes().splitlines()
    before = journal_bytes()

    may_take = stored(lines, TIMES)

    assert journal_bytes() - before <= may_take


@pytest.mark.parametrize("deltas", [0, 10])
def test_two_hundred_turns_with_their_requests_take_what_is_promised(deltas):
    lines = list(LongLoop(200, deltas).lines())
    before = journal_bytes()

    may_take = stored(lines, 1)

    assert journal_bytes() - before <= may_take
    assert sum(map(len, lines)) > 20 * may_take  # or else there would be nothing to store once
