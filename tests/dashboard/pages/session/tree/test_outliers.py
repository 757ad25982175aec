"""Turns that stand out of their loop: the definition, and the marks in tree, timeline and replay track."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.session.tree.queries import outliers
from dashboard.pages.session.tree.queries.outliers import LEAST_TURNS, TIMES, Measured, mean_of_others
from recorder.models import LoopRecord, Turn
from tests.support import build

FLAG = re.compile(r'class="flag flag-outlier" title="([^"]*)"')
CONFIG = {"model": "claude-haiku-4-5", "provider": "anthropic", "api": "anthropic_messages"}


def answered(loop, index, start, end, tokens=100, model=CONFIG["model"]):
    usage = {"input": tokens, "output": 0}
    message = build.assistant() | {"model": model, "provider": CONFIG["provider"], "usage": usage}
    return [
        build.turn_start(loop, index=index, at=start),
        build.turn_end(loop, at=end, message=message, usage=usage),
    ]


def loop_of(*lengths, loop="s.a.1", tokens=None, model=CONFIG["model"]):
    """Return a loop with turns that took these seconds, and sent as many tokens as `tokens` names."""
    start, events = 0, [build.agent_start(loop, config_snapshot=CONFIG | {"model": model})]
    for n, length in enumerate(lengths):
        sent = 100 if tokens is None else tokens[n]
        events += answered(loop, n, start, start + length, sent, model)
        start += length
    return [*events, build.agent_end(loop, at=start)]


def far_above(amounts):
    """Return the mean of the others for each amount that is far above it, None for the rest."""
    known = [amount for amount in amounts if amount is not None]
    return [mean_of_others(amount, len(known), sum(known)) for amount in amounts]


def test_a_turn_is_far_above_with_more_than_four_times_the_mean_of_the_others():
    assert far_above([2, 2, 2, 2, 9]) == [None, None, None, None, 2]
    assert far_above([2, 2, 2, 2, 8]) == [None] * 5
    assert far_above([None, 2, 2, None, 2, 2, 9]) == [*[None] * 6, 2]
    assert far_above([0, 0, 0, 0, 1]) == [*[None] * 4, 0]


def test_few_turns_or_equal_ones_have_no_outlier():
    assert far_above([1, 1, 1, 10**9]) == [None] * 4
    assert far_above([7] * 100) == [None] * 100
    assert far_above([0] * 100) == [None] * 100
    assert far_above([]) == []


@given(st.lists(st.none() | st.integers(0, 10**18), max_size=80))
def test_about_a_quarter_of_the_turns_at_most_are_outliers_and_each_is_above_the_mean_of_the_others(amounts):
    found = [
        (amount, others)
        for amount, others in zip(amounts, far_above(amounts), strict=True)
        if others is not None
    ]
    known = [amount for amount in amounts if amount is not None]
    assert 4 * len(found) < len(known) + 3
    assert all(amount > TIMES * others for amount, others in found)
    assert not found or len(known) >= LEAST_TURNS


def test_short_turns_are_no_outliers_however_much_shorter_the_others_are():
    def turn(ms):
        return Measured(9, 9, None, 0, None, ms, timed=10, all_ms=9 * 3 + ms)

    assert outliers.outliers([turn(999)]) == []
    [found] = outliers.outliers([turn(1_000)])
    assert found.words == "took 1.0s, the other turns of its loop 3ms on average"


def test_a_slow_turn_is_marked_in_tree_timeline_and_replay_track(feed, loop):
    feed(*loop_of(2, 2, 60, 2, 2, 2))
    page = loop("s.a.1", query="?tab=timeline")
    words = "took 1m 00s, the other turns of its loop 2.0s on average"

    titles = FLAG.findall(page.html)
    assert titles == [f"Turn 3 {words}", f"Turn 3 {words}", f"T{words[1:]}"]  # row, lane, turn
    assert f'aria-label="{words}"' in page.html
    assert page.html.count('<path class="span-outlier"') == 2
    assert re.search(r'<path class="tick event-outlier" d="M\d+ 0h0"', page.html)  # a dot
    assert 'aria-label="Replay position, 1 outlier"' in page.html
    assert "1 outlier" in page.rows[0]


def test_a_dear_turn_is_marked_and_a_price_that_is_not_known_is_no_reason(feed, session):
    feed(*loop_of(2, 2, 2, 2, 2, tokens=(1_000, 1_000, 1_000, 1_000, 900_000)))
    assert FLAG.findall(session().html) == [
        "Turn 5 cost $0.900, the other turns of its loop $0.0010 on average"
    ]

    sent = (1_000, 1_000, 1_000, 1_000, 900_000)
    feed(*loop_of(2, 2, 2, 2, 2, loop="t.a.1", tokens=sent, model="no-such-model"))
    assert not FLAG.findall(session("t").html)


@pytest.mark.parametrize("lengths", [(2, 2, 60), (5, 5, 5, 5, 5, 5)])
def test_a_loop_without_outliers_has_no_mark(feed, loop, lengths):
    feed(*loop_of(*lengths))
    page = loop("s.a.1", query="?tab=timeline")
    assert "outlier" not in page.part("loops")
    assert "span-outlier" not in page.html
    assert 'aria-label="Replay position"' in page.html


def test_turns_of_another_loop_do_not_count(feed, session):
    feed(*loop_of(2, 2, 2, 2, 2), *loop_of(60, 60, 60, 60, 60, loop="s.a.2"))
    assert not FLAG.findall(session().html)


def test_a_clock_that_went_back_is_no_time(feed):
    feed(
        build.agent_start("b.a.1"),
        *(event for n in range(5) for event in answered("b.a.1", n, 100, 102)),
        *answered("b.a.1", 5, 9_000, 100),
    )
    assert outliers.of_loops(list(LoopRecord.objects.values_list("pk", flat=True))) == {}


def test_a_loop_that_names_many_outliers_says_how_many_more(feed):
    feed(*loop_of(*[60 if n % 8 == 0 else 1 for n in range(64)]))
    [found] = outliers.of_loops(list(LoopRecord.objects.values_list("pk", flat=True))).values()
    assert found.count == 8
    assert found.words.startswith("Turn 1 took 1m 00s")
    assert found.words.endswith("3 more turns")


def test_of_many_turns_only_candidates_are_read(feed):
    feed(*loop_of(*[1] * 200, 90))
    [loop] = LoopRecord.objects.values_list("pk", flat=True)
    assert len(outliers._of_loops([loop])) == 1


def test_costs_beyond_any_number_of_the_database_are_compared(feed):
    feed(*loop_of(1, 1, 1, 1, 1))
    Turn.objects.update(cost_nano=2**62)
    last = Turn.objects.latest("ordinal")
    Turn.objects.exclude(pk=last.pk).update(cost_nano=1)
    [found] = outliers.of_session(last.loop.session_id).values()
    assert found.count == 1


def test_many_turns_take_one_query(feed):
    feed(*loop_of(*[1] * 30, 90), *loop_of(*[1] * 30, 90, loop="t.a.1"))
    loops = list(LoopRecord.objects.values_list("pk", flat=True))
    outliers.of_loops(loops)  # compiles the query
    with CaptureQueriesContext(connection) as queries:
        assert {loop: found.count for loop, found in outliers.of_loops(loops).items()} == dict.fromkeys(
            loops, 1
        )
    assert len(queries) == 1
