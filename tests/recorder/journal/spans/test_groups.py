"""Bodies of one commit give the records that they give in commits of their own, in any order and grouping."""

import random

import pytest

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, record
from recorder.ingest.otlp.endpoint import PRODUCER
from recorder.journal.batch import Receipt
from recorder.models import Project
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("seed", range(24))
def test_bodies_of_one_commit_give_the_records_of_one_commit_each(seed):
    """A session may appear and move into another one within the commit."""
    chance = random.Random(seed)
    chosen = chance.sample(captures.CAPTURES, 4)
    bodies = [lines for capture in chosen for lines in captures.lines(capture) if lines]
    chance.shuffle(bodies)
    together, one_by_one = (Project.objects.create(slug=slug) for slug in ("together", "one-by-one"))
    for body in bodies:
        captures.record(one_by_one, body)

    while bodies:
        size = chance.randint(2, 6)
        group, bodies = bodies[:size], bodies[size:]
        receipts = record([Batch(together.pk, PRODUCER, None, body, OTLP) for body in group])
        assert all(isinstance(receipt, Receipt) for receipt in receipts)

    wanted = captures.shape(one_by_one)
    assert [*captures.differences(captures.shape(together), wanted)] == []
    rebuild(together)
    assert [*captures.differences(captures.shape(together), wanted)] == []
