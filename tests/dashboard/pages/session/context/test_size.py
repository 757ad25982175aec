"""The tab Context of 200 and of 1,000 turns: equal queries and instances of models, and a bounded size."""

import json

import pytest
from django.db import connection
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower
from recorder.models import LedgerBlock, LedgerCall, Session
from tests.recorder.ledger.long_session import CALLS, LOOP, turns
from tests.support import build

FEW, MANY = 200, 1_000
BYTES = 300_000


@pytest.fixture
def grow(project):
    """Return a function that records turns of one session up to a number, and makes their ledger."""
    sent = [build.user("Begin.")]
    upto = 0

    def grow(number):
        nonlocal upto
        events = [] if upto else [build.agent_start(LOOP)]
        for first in range(upto, number, CALLS):
            events += turns(first, sent)
        upto = number
        lines = [json.dumps(event, separators=(",", ":")).encode() for event in events]
        assert not ingest(Batch(project.pk, "agent", None, lines, "native")).rejected
        follower.run_all()
        return Session.objects.get()

    return grow


def work(reader, session):
    """Return the queries, the instances of models and the bytes of a second request of the tab."""
    path = f"/p/default/sessions/{session.pk}?tab=context"
    reader.get(path, follow=True)
    made = []

    def note(sender, **_):
        made.append(sender)

    post_init.connect(note)
    try:
        with CaptureQueriesContext(connection) as queries:
            answer = reader.get(path, follow=True)
    finally:
        post_init.disconnect(note)
    assert answer.status_code == 200
    return len(queries), made, answer.content


@pytest.mark.slow
def test_a_thousand_turns_take_the_queries_and_instances_of_two_hundred(grow, reader):
    queries, made, _ = work(reader, grow(FEW))
    session = grow(MANY)
    assert LedgerCall.objects.count() == MANY

    more_queries, more_made, html = work(reader, session)

    assert b'aria-valuemax="1000"' in html
    assert more_queries == queries
    assert len(more_made) == len(made)
    assert LedgerCall not in set(more_made) - set(made)
    assert LedgerBlock not in more_made
    assert len(html) < BYTES
