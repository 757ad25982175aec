"""Two nodes on PostgreSQL: one at a time makes the ledger, and none waits for another's transaction."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower, state
from recorder.ledger.follower import Follower
from recorder.models import LedgerCall, LedgerRedo, Session, Turn
from tests.recorder.ledger import made_up
from tests.recorder.ledger.test_follower import totals
from tests.support.wait import LONGEST_S

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer"),
]


class OtherNode:
    """A thread with a transaction of its own, open until `end`."""

    def __init__(self, work):
        self._work, self._has_begun, self._may_end = work, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._has_begun.wait(LONGEST_S)

    def _run(self):
        with transaction.atomic():
            self._work()
            self._has_begun.set()
            self._may_end.wait(LONGEST_S)
        connection.close()

    def end(self):
        self._may_end.set()
        self._thread.join()


def play(project):
    plan = [(0, "recorded"), (0, "tool"), (4, "recorded")]
    ingest(Batch(project.pk, "p", None, made_up.lines(plan), "native"))
    state.ensure_all()


def test_while_another_node_has_the_lock_a_writer_goes_on_with_its_work(project):
    play(project)
    node, here = OtherNode(state.lock), Follower()

    assert not here.step()
    assert not here.is_behind
    assert not LedgerCall.objects.exists()
    node.end()

    follower.run_all()
    assert LedgerCall.objects.count() == Turn.objects.filter(state="done").count() == 3
    assert len(set(totals(project))) == 1


def test_a_session_that_a_rebuild_is_marking_is_made_again_later(project):
    play(project)
    follower.run_all()
    session = Session.objects.order_by("pk").first().pk
    LedgerRedo.mark([session])
    node = OtherNode(lambda: LedgerRedo.mark([session]))

    while Follower().step():
        pass
    assert LedgerRedo.objects.exists()
    node.end()

    follower.run_all()
    assert not LedgerRedo.objects.exists()
    assert LedgerCall.objects.count() == 3


def test_two_followers_at_once_make_each_call_once(project):
    play(project)

    def work():
        while Follower(is_patient=True).step():
            pass
        connection.close()

    with ThreadPoolExecutor(3) as nodes:
        for each in [nodes.submit(work) for _ in range(3)]:
            each.result()

    assert LedgerCall.objects.count() == 3
    assert len(set(totals(project))) == 1
