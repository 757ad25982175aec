"""The provider's own reason is found wherever senders put it, and compared with the verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.ledger.reasons import REASON_MAX, agrees, reason_of
from recorder.core.ledger.verdicts import VERDICTS

DETAILED = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 9_000}}
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["message", "usage", "diagnostics", "cache_miss_reason", "type"]), inner
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "event",
    [
        {"message": {"diagnostics": DETAILED}},
        {"message": {"usage": {"diagnostics": {"cache_miss_reason": "tools_changed"}}}},
        {"usage": {"cache_miss_reason": "tools_changed"}},
        {"diagnostics": DETAILED, "message": None},
        {"cache_miss_reason": "tools_changed"},
    ],
)
def test_a_reason_is_found_in_the_answer_the_usage_and_the_event(event):
    assert reason_of(event) == "tools_changed"


@given(JSON)
def test_other_shapes_have_none_or_a_short_one(event):
    found = reason_of(event if isinstance(event, dict) else {})
    assert len(found) <= REASON_MAX
    assert "\x00" not in found


def test_nothing_is_recorded_for_an_answer_without_diagnostics():
    assert reason_of({"message": {"diagnostics": {"cache_miss_reason": None}}, "usage": {"input": 1}}) == ""


@pytest.mark.parametrize(
    ("verdict", "reason", "expected"),
    [
        ("tools_changed", "tools_changed", True),
        ("history_edited", "messages_changed", True),
        ("settings_changed", "messages_changed", True),
        ("append_only", "system_changed", False),
        ("provider_miss", "messages_changed", False),
        ("tools_changed", "system_changed", False),
        ("unknown", "system_changed", None),
        ("undecided", "system_changed", None),
        ("provider_miss", "unavailable", None),
        ("system_changed", "previous_message_not_found", None),
        ("system_changed", "", None),
        ("system_changed", "a_later_reason", None),
    ],
)
def test_a_reason_agrees_disagrees_or_says_nothing(verdict, reason, expected):
    assert verdict in VERDICTS
    assert agrees(verdict, reason) is expected
