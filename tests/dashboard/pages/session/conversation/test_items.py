"""Progress and duration of a tool call."""

import pytest

from dashboard.pages.session.conversation.items import Tool


def tool(**facts):
    return Tool(1, "bash", "make", "running", **facts)


@pytest.mark.parametrize(
    ("progress", "percent"),
    [
        ("5 of 6 on 4.18.2", 83),
        ("38/212 packages", 17),
        ("40%, 3 left", 40),
        ("130 %", 100),
        ("0 of 0", None),
        ("", None),
    ],
)
def test_progress_with_a_fraction_is_a_percentage(progress, percent):
    assert tool(progress=progress).percent == percent


@pytest.mark.parametrize(
    ("facts", "is_timed"),
    [
        ({"duration_ms": 1, "times_received": True}, False),
        ({"duration_ms": 2, "times_received": True}, True),
        ({"duration_ms": 0, "times_received": False}, True),
    ],
)
def test_the_time_between_two_lines_of_one_batch_is_no_duration(facts, is_timed):
    assert tool(**facts).is_timed == is_timed
