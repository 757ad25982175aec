"""What a call did to files is read from arguments as each agent writes them, and never raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.files import diffs
from recorder.core.files.touches import touches

PATCH = """*** Begin Patch
*** Update File: src/app.py
@@ def total():
-    return a
+    return a + b
*** Add File: notes.md
+One.
+Two.
*** Delete File: old.py
*** End Patch"""


def brief(tool, arguments):
    return [(touch.action, touch.path or touch.command) for touch in touches(tool, arguments)]


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("Read", {"file_path": "a.py"}, [("read", "a.py")]),
        ("read_file", {"path": "a.py"}, [("read", "a.py")]),
        ("view", {"filePath": "a.py"}, [("read", "a.py")]),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, [("edited", "a.py")]),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, [("edited", "a.py")]),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, [("edited", "a.ipynb")]),
        ("replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, [("edited", "a.py")]),
        ("Write", {"file_path": "a.py", "content": "x"}, [("written", "a.py")]),
        ("mcp__fs__write_file", {"path": "a.py", "content": "x"}, [("written", "a.py")]),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}, [("read", "a.py")]),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, [("written", "a.py")]),
        ("str_replace_editor", {"command": "insert", "path": "a.py"}, [("edited", "a.py")]),
        ("delete_file", {"path": "a.py"}, [("deleted", "a.py")]),
        ("Bash", {"command": "pytest -q"}, [("command", "pytest -q")]),
        ("shell", {"command": ["bash", "-lc", "ls"]}, [("command", "ls")]),
        ("exec_command", {"cmd": "ls", "workdir": "/srv"}, [("command", "ls")]),
        ("Grep", {"pattern": "x", "path": "src"}, []),
        ("WebFetch", {"url": "https://example.org"}, []),
        ("Read", None, []),
        ("Read", ["a.py"], []),
        ("Read", {"file_path": 7}, []),
    ],
)
def test_a_call_is_read_as_each_agent_writes_it(tool, arguments, found):
    assert brief(tool, arguments) == found


@pytest.mark.parametrize(
    "arguments",
    [
        PATCH,
        {"input": PATCH},
        {"patchText": PATCH},
        {"command": ["apply_patch", PATCH]},
        {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"},
    ],
)
def test_a_patch_touches_each_of_its_files(arguments):
    found = touches("apply_patch", arguments)

    assert [(touch.action, touch.path) for touch in found] == [
        ("edited", "src/app.py"),
        ("written", "notes.md"),
        ("deleted", "old.py"),
    ]
    changes = [(touch.diff.added, touch.diff.removed) for touch in found if touch.diff]
    assert changes == [(1, 1), (2, 0)]


def test_the_diff_of_an_edit_has_the_changed_lines_with_those_around_them():
    lines = [f"line {number}" for number in range(9)]
    after = [*lines[:4], "another", *lines[5:]]
    (touch,) = touches(
        "Edit", {"file_path": "a", "old_string": "\n".join(lines), "new_string": "\n".join(after)}
    )

    assert touch.diff.text.split("\n") == [
        "@@ -3,5 +3,5 @@",
        *(" line 2", " line 3", "-line 4", "+another", " line 5", " line 6"),
    ]
    assert (touch.diff.added, touch.diff.removed, touch.diff.more) == (1, 1, 0)


def test_several_edits_of_a_call_are_one_diff():
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d\ne"}, "junk"]
    (touch,) = touches("edit", {"path": "a.py", "edits": edits})

    assert (touch.diff.added, touch.diff.removed) == (3, 2)


def test_a_long_text_is_cut_and_counted():
    (touch,) = touches("Write", {"file_path": "a", "content": "x" * 9_000 + "\n" + "y\n" * 5_000})

    assert touch.diff.added == 5_001
    assert touch.diff.more == 5_002 - 80
    assert len(touch.diff.text) < 1_000


NAMES = st.sampled_from(["path", "file_path", "command", "edits", "old_string", "new_string", "input"])
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@given(st.text() | st.sampled_from(["Edit", "write_file", "Read", "apply_patch"]), JSON)
def test_anything_is_read(tool, arguments):
    for touch in touches(tool, arguments):
        assert bool(touch.path) != bool(touch.command)
        assert len(touch.path) <= 500


def test_the_edits_of_a_call_are_compared_within_one_budget(monkeypatch):
    compared = []
    monkeypatch.setattr(diffs, "_compared", lambda old, new: compared.append(len(old) + len(new)) or [])
    text = "\n".join(map(str, range(300)))

    for number in (10, 20):
        compared.clear()
        edits = [{"old_string": text, "new_string": text + "!"}] * number
        touches("MultiEdit", {"file_path": "a", "edits": edits})
        assert sum(compared) <= diffs.COMPARED
