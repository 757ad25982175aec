"""A flood next to a page that reads nothing; the tool itself measures how long the others wait."""

import pytest

from tests.faults import flood

pytestmark = pytest.mark.slow


def test_a_flood_is_stored_in_bounded_memory_and_a_page_that_reads_nothing_is_dropped(server):
    server.environment["LOOPSCOPE_PAGE_SILENCE_S"] = "3"  # the page stays open for part of the flood
    server.start()

    felt = flood.run(server, mib=40, before_s=1)

    assert felt.grown_mib <= flood.GROWTH_MIB, felt
    assert felt.is_page_dropped, felt
    assert felt.answers > flood.QUIET, felt
