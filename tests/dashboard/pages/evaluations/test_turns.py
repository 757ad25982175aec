"""Turns of branches side by side: divergence and usage."""

from recorder.models import LoopRecord
from tests.dashboard.pages.evaluations.branches import SAME, branch, end, judge, loop_id, start
from tests.dashboard.pages.evaluations.conftest import rows, text


def test_equal_turns_share_a_row_and_each_links_to_its_loop(feed, evaluation):
    feed(
        start(1, 2),
        *branch(1, *SAME, "edit b", "One."),
        *branch(2, *SAME, "web c", "read d!", "Two."),
        *judge("1"),
        end(1),
    )

    page = evaluation()
    first, second = (LoopRecord.objects.get(loop_id=loop_id(n)) for n in (1, 2))

    assert [[cell.split()[0] for cell in row] for row in rows(page)] == [
        ["Turn", "read", "read"],
        ["Turn", "bash", "bash"],
        ["Turn", "edit", "web"],
        ["between", "~", "read"],
        ["Turn", "answer", "answer"],
    ]
    assert "failed" in rows(page)[3][2]
    for loop in (first, second):
        assert f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}?turn=3#turn-3" in page.links


def test_the_first_divergence_is_marked_and_has_an_address(feed, evaluation):
    feed(
        start(1, 2),
        *branch(1, *SAME, "edit b", "One."),
        *branch(2, *SAME, "web c", "Two."),
        *judge("1"),
        end(1),
    )

    page = evaluation()
    divergence = page.root.find("divergence")

    assert "Turn 3" in text(divergence)
    assert "First divergence: turn 3" in page.text
    assert any(link.endswith("#divergence") for link in page.links)
    assert page.html.count('class="is-same"') == 2 + 2  # rows, and the cells beside the winner's


def test_branches_that_did_the_same_have_no_divergence(feed, evaluation):
    feed(start(1, 2), *branch(1, *SAME, "Done."), *branch(2, *SAME, "Done."), *judge("1"), end(1))

    page = evaluation()

    assert "No divergence" in page.text
    assert page.root.find("divergence") is None


def test_only_differences_can_be_shown(feed, evaluation):
    feed(
        start(1, 2),
        *branch(1, *SAME, "edit b", "Done."),
        *branch(2, *SAME, "web c", "Done."),
        *judge("1"),
        end(1),
    )

    page = evaluation("?only=diff")

    assert [row[0] for row in rows(page)] == ["2 equal turns", "Turn 3 Branches diverge here", "1 equal turn"]


def test_turns_show_their_usage_relative_to_the_winner(feed, evaluation):
    feed(
        start(1, 2),
        *branch(1, "read a", "One."),
        *branch(2, "read a", "Two.", tokens=60),
        *judge("1"),
        end(1),
    )

    (_, mine, other), _ = rows(evaluation())

    assert "10 tokens, <$0.0001" in mine
    assert "+50 tokens, +$0.00015" in other


def test_a_running_branch_has_not_diverged(feed, evaluation):
    running = [e for e in branch(2, *SAME) if e["type"] != "AgentEnd"]
    feed(start(1, 2), *branch(1, *SAME, "edit b"), *running)

    assert "First divergence" not in evaluation().text
