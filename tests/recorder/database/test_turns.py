"""Threads of a process take turns to write to a SQLite database."""

from threading import Event, Thread
from time import sleep

import pytest
from django.db import connection, transaction

from recorder.database.sqlite.turns import Turns
from recorder.models import Project
from tests.support.wait import LONGEST_S, until


def test_the_thread_that_has_waited_longest_has_the_next_turn():
    turns, order, threads = Turns(), [], []
    assert turns.take(0)

    def wait(number):
        assert turns.take(LONGEST_S)
        order.append(number)
        turns.end()

    for number in range(5):
        threads.append(Thread(target=wait, args=[number]))
        threads[-1].start()
        until(lambda number=number: len(turns._waiting) == number + 1)
    turns.end()
    for thread in threads:
        thread.join()

    assert order == [0, 1, 2, 3, 4]
    assert turns.take(0)


def test_a_turn_that_does_not_come_in_time_is_no_longer_waited_for():
    turns = Turns()
    assert turns.take(0)

    assert not turns.take(0.001)
    turns.end()
    assert turns.take(0)


class Busy(Thread):
    """Writes one transaction after another, without a pause between them."""

    def __init__(self):
        super().__init__()
        self.is_over, self.in_transaction, self.commits = False, Event(), 0

    def run(self):
        while not self.is_over:
            with transaction.atomic():
                Project.objects.filter(slug="busy").update(title=str(self.commits))
                self.in_transaction.set()
                sleep(0.02)  # so that most of the time is within a transaction
            self.commits += 1
        connection.close()


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_thread_without_a_pause_lets_others_write_after_each_transaction(in_transaction):
    Project.objects.create(slug="busy")
    busy, commits = Busy(), []
    busy.start()
    try:
        busy.in_transaction.wait(LONGEST_S)
        for number in range(20):
            before = busy.commits
            if in_transaction:
                with transaction.atomic():
                    Project.objects.create(slug=f"p{number}")
            else:
                Project.objects.create(slug=f"p{number}")
            commits.append(busy.commits - before)
    finally:
        busy.is_over = True
        busy.join()

    assert max(commits) <= 2
