"""Geometry of the chart of context sizes."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.compaction_analysis.payback import Call
from dashboard.pages.compactions.chart import BARS_MAX, BOTTOM, LEFT, RIGHT, TOP, chart


def call(event, uncached, read=0, loop=1, state="done"):
    return Call(event, loop, event, None, event, None, uncached, read, 0, 0, state)


def test_bars_have_the_height_of_requests_with_the_compaction_between_them():
    drawn = chart([call(1, 100, 300), call(2, 50, 350), call(4, 200)], 3, [3], {1: 7}, None, None)

    assert [level.tokens for level in drawn.levels] == [0, 100, 200, 300, 400]
    heights = [(bar.cached_height, bar.fresh_height) for bar in drawn.bars]
    assert heights == [(114.0, 37.0), (133.0, 18.0), (0.0, 76.0)]  # 0.38 a token; 1 between two parts
    assert drawn.bars[0].cached_y == BOTTOM - 114
    assert drawn.bars[1].x + drawn.bars[1].width < drawn.here < drawn.bars[2].x
    assert drawn.drops == []
    assert [span.number for span in drawn.loops] == [7]


def test_a_near_limit_is_a_line_and_a_far_one_is_text():
    near = chart([call(1, 100)], 2, [2], {1: 1}, 200, 150)
    far = chart([call(1, 100)], 2, [2], {1: 1}, 2_000, None)

    assert (near.limit.tokens, near.far_limit) == (200, None)
    assert TOP <= near.limit.y < near.began.y
    assert (far.limit, far.far_limit) == (None, 2_000)
    assert far.here is not None


def test_only_the_calls_around_the_compaction_are_drawn():
    calls = [call(n, 10) for n in range(1, 1_001)]
    drawn = chart(calls, 500, [500], {1: 1}, None, None)

    assert len(drawn.bars) == BARS_MAX
    assert drawn.earlier + len(drawn.bars) + drawn.later == 1_000
    assert drawn.bars[0].call.event < 500 < drawn.bars[-1].call.event


def test_calls_without_a_size_are_left_out():
    assert chart([call(1, None), call(2, 5, state="open")], 3, [3], {1: 1}, None, None) is None
    assert len(chart([call(1, None), call(2, 5)], 3, [3], {1: 1}, None, None).bars) == 1


SIZES = st.tuples(st.integers(0, 2**53), st.integers(0, 2**53), st.integers(1, 4))


@given(st.lists(SIZES, min_size=1, max_size=120), st.integers(0, 130), st.integers(1, 2**53) | st.none())
def test_all_bars_are_inside_the_chart(sizes, position, limit):
    calls = [call(n, *size) for n, size in enumerate(sizes, 1)]
    drawn = chart(calls, position, [position, 50], {}, limit, None)
    if drawn is None:
        assert all(each.prompt is None for each in calls)
        return

    for bar in drawn.bars:
        assert LEFT <= bar.x < bar.x + bar.width <= RIGHT + 0.01
        assert TOP - 0.1 <= bar.fresh_y <= bar.cached_y <= BOTTOM
        assert bar.cached_y + bar.cached_height <= BOTTOM + 0.1
    lefts = [bar.x for bar in drawn.bars]
    assert lefts == sorted(lefts)
    assert drawn.here is not None
    assert LEFT <= drawn.here <= RIGHT
