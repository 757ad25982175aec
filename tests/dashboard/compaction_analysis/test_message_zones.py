"""Zones of a compaction: every message is kept, summarised, dropped, truncated or new, exactly once."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dashboard.compaction_analysis.message_zones import compare
from dashboard.compaction_analysis.messages import groups, message, messages
from dashboard.compaction_analysis.phi_block import block, compared
from dashboard.rendering.sequence_match import patience_match
from tests.support import build

TASK = build.user("Fix the parser.")


def asks(*calls):
    content = [
        {"type": "toolCall", "id": call, "name": "read", "arguments": {"path": call}} for call in calls
    ]
    return {**build.assistant(f"Reading {', '.join(calls)}."), "content": content}


def zones_of(before, after, new=(), known=()):
    found = compare(
        messages(before), messages(after), {message(m).key for m in new}, {message(m).key for m in known}
    )
    return [(zone.kind, zone.before, zone.after, len(zone.cuts)) for zone in found.zones]


STORY = [TASK, asks("a"), build.tool_result("a", "A" * 90), asks("b"), build.tool_result("b", "B" * 90)]


def test_unchanged_messages_are_one_zone():
    assert zones_of(STORY, STORY) == [("kept", 5, 5, 0)]
    assert compare(messages(STORY), messages(STORY)).is_whole


def test_a_replaced_middle_is_summarised():
    summary = build.user("[Summary] a was read.")

    assert zones_of(STORY, [TASK, summary, *STORY[3:]]) == [
        ("first", 1, 1, 0),
        ("summary", 2, 1, 0),
        ("recent", 2, 2, 0),
    ]


def test_a_removed_middle_is_dropped():
    assert zones_of(STORY, [TASK, *STORY[3:]]) == [("first", 1, 1, 0), ("drop", 2, 0, 0), ("recent", 2, 2, 0)]


def test_a_shorter_result_of_the_same_call_is_truncated():
    after = [*STORY[:2], build.tool_result("a", "AAA…"), *STORY[3:]]
    found = compare(messages(STORY), messages(after))

    assert zones_of(STORY, after) == [("kept", 5, 5, 1)]
    assert not found.is_whole
    assert found.lost == {"a": "cut"}
    assert [(cut.before, cut.after) for cut in found.zones[0].cuts] == [(90, 6)]


def test_new_messages_are_not_a_summary():
    question, summary = build.user("And now?"), build.user("[Summary]")

    assert zones_of(STORY, [TASK, *STORY[3:], question], new=[question])[-1] == ("new", 0, 1, 0)
    assert zones_of(STORY, [TASK, question, *STORY[3:]], new=[question])[1] == ("drop", 2, 0, 0)
    put = zones_of(STORY, [TASK, summary, question, *STORY[3:]], known=[summary])
    assert put == [("first", 1, 1, 0), ("summary", 2, 1, 0), ("recent", 2, 2, 0), ("new", 0, 1, 0)]


def test_timestamps_and_usage_do_not_make_messages_different():
    later = [{**each, "timestamp": 9, "usage": {"input": 1}} for each in STORY]

    assert compare(messages(STORY), messages(later)).is_whole


def test_any_json_is_accepted_as_a_message():
    odd = [
        "text",
        None,
        7,
        {"role": 3},
        {"content": {"a": "\ud800"}},
        {"role": "user", "content": [None, {"type": 1}]},
    ]

    assert compare(messages(odd), messages(odd)).is_whole
    assert messages("no list") == []


NAMES = st.lists(st.integers(0, 9).map(lambda n: bytes([n])), max_size=30)


@given(NAMES, NAMES)
def test_pairs_are_equal_and_grow(before, after):
    pairs = patience_match(before, after)

    assert all(before[i] == after[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(st.lists(st.integers(0, 50), unique=True, max_size=30), st.data())
def test_the_remaining_messages_are_found_whatever_is_removed(numbers, data):
    before = [bytes([n]) for n in numbers]
    after = [name for name in before if data.draw(st.booleans())]

    assert [after[j] for _, j in patience_match(before, after)] == after


@given(st.lists(st.sampled_from(range(8)), max_size=20), st.lists(st.sampled_from(range(8)), max_size=20))
def test_every_message_is_in_one_zone(before, after):
    pool = [*STORY, build.user("x"), build.user("y"), asks("c", "d")]
    left, right = messages([pool[n] for n in before]), messages([pool[n] for n in after])
    found = compare(left, right)

    assert sum(zone.before for zone in found.zones) == len(left)
    assert sum(zone.after for zone in found.zones) == len(right)
    assert found.size_before == sum(each.size for each in left)
    assert found.size_after == sum(each.size for each in right)
    assert [each for row in found.rows for each in row.messages] == left


BLOCK = {
    "keep_first": {"startTurn": 0, "endTurn": 0},
    "keep_compacted": {"range": {"startTurn": 1, "endTurn": 1}, "messages": [build.user("[Summary]")]},
    "keep_recent": {
        "range": {"startTurn": 2, "endTurn": 2},
        "messages": [STORY[3], build.tool_result("b", "BB")],
    },
}


def test_a_block_counts_groups_of_messages_and_contains_the_inserted_ones():
    found = compared(block(BLOCK), messages(STORY))

    assert [len(group) for group in groups(messages(STORY))] == [1, 2, 2]
    assert [(zone.kind, zone.before, zone.after) for zone in found.zones] == [
        ("first", 1, 1),
        ("summary", 2, 1),
        ("recent", 2, 2),
    ]
    assert [(cut.before, cut.after) for cut in found.zones[2].cuts] == [(90, 2)]


def test_a_block_without_its_messages_is_shown_by_counts():
    found = compared(block(BLOCK), [])

    assert (found.before, found.size_before) == (3, None)
    assert [(zone.kind, zone.before, zone.unit) for zone in found.zones] == [
        ("first", 1, "group"),
        ("summary", 1, "group"),
        ("recent", 1, "group"),
    ]


def test_a_block_without_a_range_is_none():
    for content in (
        None,
        [],
        {},
        {"keep_first": {"startTurn": 3, "endTurn": 1}},
        {"keep_recent": {"range": 7}},
    ):
        assert block(content) is None
    assert block({"keep_first": {"startTurn": 0, "endTurn": 10**12}}) is None
