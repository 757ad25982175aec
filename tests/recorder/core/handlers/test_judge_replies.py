"""A judge's verdict is read from its last message, wherever it stands."""

import pytest

from recorder.core.records import Group
from tests.support import build
from tests.support.memory_store import Play

REPLY = build.assistant("The best answer is 2.")
WITHOUT = {"messages": []}


def judged(*last):
    """Return the group after a judge whose reply is in the events `last`."""
    play = Play(
        build.parallel_start("s.a.1", "s.b.1"),
        *(event for loop in ("s.a.1", "s.b.1") for event in (build.agent_start(loop), build.agent_end(loop))),
        build.agent_start("s.judge.1"),
        *last,
        build.parallel_end("s.b.1", index=1),
    )
    return play.one(Group)


@pytest.mark.parametrize(
    "last",
    [
        [{**build.agent_end("s.judge.1"), "messages": [REPLY]}],
        [
            {"type": "MessageEnd", "loop_id": "s.judge.1", "message": REPLY},
            build.agent_end("s.judge.1") | WITHOUT,
        ],
        [
            build.turn_start("s.judge.1"),
            build.turn_end("s.judge.1", message=REPLY),
            build.agent_end("s.judge.1") | WITHOUT,
        ],
    ],
    ids=["AgentEnd", "MessageEnd", "TurnEnd"],
)
def test_the_reply_counts_in_every_kind_of_event(last):
    group = judged(*last)
    assert group.named == [2]
    assert group.verdict == "judged"


def test_a_reply_without_a_branch_is_a_fallback():
    message = build.assistant("I cannot decide.")
    group = judged(
        {"type": "MessageEnd", "loop_id": "s.judge.1", "message": message},
        build.agent_end("s.judge.1") | WITHOUT,
    )
    assert group.verdict == "fallback"
