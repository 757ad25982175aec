"""The check of reported counts against the requests."""

from datetime import date

import pytest

from dashboard.compaction_analysis.claim_check import Claim, verdict
from dashboard.compaction_analysis.message_zones import compare
from dashboard.compaction_analysis.messages import messages
from tests.support import build

MANY = [build.user(f"{n}") for n in range(9)]
WHOLE = compare(messages(MANY), messages(MANY))
SHORT = compare(messages(MANY), messages([MANY[0], build.user("[Summary]"), *MANY[4:]]))


@pytest.mark.parametrize(
    ("claim", "sent", "kind", "words"),
    [
        (
            Claim(9, 7, 500, 40, 1),
            WHOLE,
            "refuted",
            "9 to 7 messages and 500 to 40 tokens, but the next request held all 9",
        ),
        (
            Claim(9, 9, 500, 40, 0),
            WHOLE,
            "refuted",
            "reports 500 to 40 tokens, but the next request held all 9",
        ),
        (
            Claim(9, 9, 500, 500, 0),
            WHOLE,
            "idle",
            "No effect, as reported: the next request held all 9",
        ),
        (Claim(9, 9, 500, 500, 0), None, "idle", "No effect, as reported."),
        (Claim(9, 7, 500, 40, 1), SHORT, "agrees", "the reported number of messages"),
        (Claim(9, 6, 500, 40, 1), SHORT, "differs", "the requests held 9 before and 7 after"),
        (Claim(None, None, 500, 40, None), SHORT, "unsent", "No message counts were reported"),
        (Claim(9, 7, 500, 40, 1), None, "unsent", "only the counts are known"),
    ],
)
def test_reported_counts_are_checked_against_the_requests(claim, sent, kind, words):
    found = verdict(claim, sent, "done", has_next=True)

    assert found.kind == kind
    assert words in found.words


def test_an_unfinished_or_last_compaction_is_reported_as_such():
    claim = Claim(9, 7, 500, 40, 1)

    assert verdict(claim, None, "running", has_next=False).kind == "running"
    assert verdict(claim, WHOLE, "cut", has_next=True).kind == "cut"
    assert verdict(claim, None, "done", has_next=False).kind == "waiting"
    assert verdict(claim, None, "done", has_next=True, pruned=date(2026, 11, 12)).words == (
        "The requests around this compaction were pruned on 12 Nov 2026; only the counts remain."
    )
