"""The table of actions, from which docs/reference/audit-log.md is generated; other actions still show."""

from recorder.operations.audit_actions import ACTIONS, describe, of_group
from tools.audit_reference import PAGE, page


def test_the_page_equals_the_generated_one():
    assert PAGE.read_text(encoding="utf-8") == page(), "stale: python -m tools.audit_reference"


def test_every_action_is_on_the_page():
    assert [action for action in ACTIONS if f"| `{action}` |" not in page()] == []


def test_an_action_that_is_not_listed_has_words_and_no_group():
    unknown = describe("share_link.open")
    assert (unknown.words, unknown.group, unknown.is_refusal) == ("Share link open", None, False)
    assert describe("").words == ""


def test_each_action_is_in_one_group():
    groups = [of_group(group) for group in ("signins", "access", "data")]
    assert sorted(action for group in groups for action in group) == sorted(ACTIONS)
