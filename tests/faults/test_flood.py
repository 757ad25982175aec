"""A flood beside a page that reads nothing; how long the others wait is for the tool to tell."""

import pytest

from tests.faults import flood

pytestmark = pytest.mark.slow


def test_a_flood_is_taken_whole_in_little_memory_and_a_page_that_reads_nothing_is_dropped(server):
    server.start()

    felt = flood.run(server, mib=40, before_s=1)

    assert felt.grown_mib <= flood.GROWTH_MIB, felt
    assert felt.is_page_dropped, felt
    assert felt.answers > flood.QUIET, felt
