"""What changed in a request: by its texts, and by its blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.ledger.changes import MARK, Part, change_of, change_of_text

YEAR, MONTH, DAY = "\u5e74", "\u6708", "\u65e5"
PAIRS = (
    ("Now: 14:02:11. Be brief.", "Now: 14:03:05. Be brief.", "time"),
    ("At 2026-11-20T14:00:00Z.", "At 2026-11-21T09:00:01.5+02:00.", "time"),
    ("Today is Friday, 20 November 2026.", "Today is Saturday, 21 November 2026.", "time"),
    ("Nov 20, 2026 2 PM", "Dec 1, 2026 11:15 a.m.", "time"),
    ("Fri, 20 Nov 2026 14:02:11 +0000", "Sat, 21 Nov 2026 14:02:12 +0000", "time"),
    ("Thu Nov 19 14:02:11 UTC 2026", "Fri Nov 20 14:02:11 UTC 2026", "time"),
    ("Since 1763647200.", "Since 1763647300.125.", "time"),
    ("Seen 5 minutes ago", "Seen 12 minutes ago", "time"),
    (f"2026{YEAR}11{MONTH}20{DAY}", f"2026{YEAR}12{MONTH}1{DAY}", "time"),
    ("Run 3f2a9c1b-aaaa-4bbb-8ccc-1234567890ab.", "Run 0f2a9c1b-aaaa-4bbb-8ccc-1234567890ad.", "id"),
    ("Run 3f2a9c1b77 at 10:00", "Run 0f2a9c1b78 at 10:01", "id"),
    ("12 of 40 turns are left", "11 of 40 turns are left", "number"),
    ("Be brief.", "Be terse.", "text"),
    ("Be brief. 10:00", "Be terse. 10:01", "text"),
)


@pytest.mark.parametrize(("before", "after", "change"), PAIRS)
def test_a_change_of_text_is_named(before, after, change):
    assert change_of_text(before, after) == change
    padding = "\nWork on the repository.\n" * 200
    assert change_of_text(padding + before + padding, padding + after + padding) == change
    assert change_of_text(f"{before} {padding} {before}", f"{after} {padding} {after}") == change


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_texts_have_a_change(before, after):
    if before != after:
        assert change_of_text(before, after) in ("time", "id", "number", "text")


def blocks(*names, kind="tool_definition", start=1):
    return [Part(number, kind, name) for number, name in enumerate(names, start=start)]


TOOLS = blocks("read", "grep", "bash")
SYSTEM = [Part(4, "system", "")]
MESSAGES = blocks("", "", "", kind="user", start=5)
BEFORE = [*TOOLS, *SYSTEM, *MESSAGES]


def changed(after, place, *, compacted=False, pruned=False):
    return change_of(BEFORE, after, place, compacted=compacted, pruned=pruned)


def test_changes_of_tools_are_named():
    new = Part(9, "tool_definition", "fetch")
    anew = Part(9, "tool_definition", "grep")
    at = Part(9, "tool_definition", "grep", f"{MARK}time")
    rest = [*SYSTEM, *MESSAGES]

    assert changed([TOOLS[0], new, *TOOLS[1:], *rest], 1) == "added"
    assert changed([*TOOLS, new, *rest], 3) == "added"
    assert changed([TOOLS[0], TOOLS[2], *rest], 1) == "removed"
    assert changed([*TOOLS[:2], *rest], 2) == "removed"
    assert changed([TOOLS[0], TOOLS[2], TOOLS[1], *rest], 1) == "moved"
    assert changed([TOOLS[0], anew, TOOLS[2], *rest], 1) == "described"
    assert changed([TOOLS[0], at, TOOLS[2], *rest], 1) == "time"


def test_changes_of_system_and_messages_are_named():
    system = Part(9, "system", "", f"{MARK}number")
    message = Part(9, "user", "")

    assert changed([*TOOLS, system, *MESSAGES], 3) == "number"
    assert changed([*TOOLS, Part(9, "system", ""), *MESSAGES], 3) == "text"
    assert changed([*TOOLS, *MESSAGES], 3) == "removed"
    assert changed([*TOOLS, *SYSTEM, message, *MESSAGES[1:]], 4) == "text"
    assert changed([*TOOLS, *SYSTEM, *MESSAGES[1:]], 4) == "removed"
    assert changed([*TOOLS, *SYSTEM, message], 4, compacted=True) == "compaction"
    assert changed([*TOOLS, *SYSTEM, message], 4, pruned=True) == "prune"
    assert changed(BEFORE, len(BEFORE)) == ""


def test_a_detail_that_only_looks_like_a_change_is_none():
    described = Part(9, "system", "", "changed: everything")
    assert changed([*TOOLS, described, *MESSAGES], 3) == "text"
