"""What comes first of a pass: whether what it claims and what was sent agree."""

from datetime import date

import pytest

from dashboard.compaction_analysis.claim_check import Claim, verdict
from dashboard.compaction_analysis.message_zones import compare
from dashboard.compaction_analysis.messages import messages
from tests import build

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
            "claims 500 to 40 tokens, but the next request held all 9",
        ),
        (
            Claim(9, 9, 500, 500, 0),
            WHOLE,
            "idle",
            "had no effect: it says so, and the next request held all 9",
        ),
        (Claim(9, 9, 500, 500, 0), None, "idle", "says so itself"),
        (Claim(9, 7, 500, 40, 1), SHORT, "agrees", "agree"),
        (Claim(9, 6, 500, 40, 1), SHORT, "differs", "the requests held 9 before and 7 after"),
        (Claim(None, None, 500, 40, None), SHORT, "unsent", "No message counts are recorded"),
        (Claim(9, 7, 500, 40, 1), None, "unsent", "counts only"),
    ],
)
def test_a_claim_is_held_against_what_was_sent(claim, sent, kind, words):
    found = verdict(claim, sent, "done", has_next=True)

    assert found.kind == kind
    assert words in found.words


def test_a_pass_that_is_not_over_or_not_followed_says_so():
    claim = Claim(9, 7, 500, 40, 1)

    assert verdict(claim, None, "running", has_next=False).kind == "running"
    assert verdict(claim, WHOLE, "cut", has_next=True).kind == "cut"
    assert verdict(claim, None, "done", has_next=False).kind == "waiting"
    assert verdict(claim, None, "done", has_next=True, pruned=date(2026, 11, 12)).words == (
        "The bodies of the requests around this pass were pruned on 12 Nov 2026: counts only."
    )
