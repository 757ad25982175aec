"""The waits between tries."""

import random

from loopscope_client.transport.delivery import Backoff


def test_waits_leave_the_random_numbers_of_the_program_alone():
    random.seed(7)
    state = random.getstate()
    waits = [Backoff().next() for _ in range(20)]
    assert random.getstate() == state
    assert len(set(waits)) > 1
