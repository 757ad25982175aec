"""The files that a tool call reads, edits or writes, or the command that it runs, from its arguments. Pure.

Agents name tools and arguments each in their own way: the words of a tool's name say what it does
(`write_file`, `Edit`, `NotebookEdit`), an argument that names a path says to what. A patch may touch several
files; it is recognized by its first line, in an argument or in a command. Cost: one pass over the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from recorder.core.content.text import clean
from recorder.core.files.diffs import Diff, difference
from recorder.core.records import Json
from recorder.core.waste.tools import command_of

Action = Literal["read", "edited", "written", "deleted", "command"]
ACTIONS: tuple[Action, ...] = ("read", "edited", "written", "deleted", "command")
PATH_MAX, COMMAND_MAX = 500, 2_000  # characters
FILES_MAX = 100  # of one patch
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PATHS = (
    *("file_path", "path", "filePath", "file", "filename", "absolute_path", "target_file", "notebook_path"),
    *("relative_path", "relative_workspace_path"),
)
_WORDS: tuple[tuple[Action, frozenset[str]], ...] = (
    ("deleted", frozenset({"delete", "remove", "unlink"})),
    ("edited", frozenset({"edit", "multiedit", "patch", "replace", "insert", "apply", "modify", "update"})),
    ("written", frozenset({"write", "create", "save", "overwrite"})),
    ("read", frozenset({"read", "view", "open", "cat", "load"})),
)
_EDITOR: Mapping[str, Action] = {
    "view": "read",
    "create": "written",
    **dict.fromkeys(("str_replace", "insert", "undo_edit"), "edited"),
}
_PAIRS = (
    *(("old_string", "new_string"), ("old_str", "new_str"), ("oldString", "newString")),
    *(("oldText", "newText"), ("old_text", "new_text"), ("old", "new")),
)
_CONTENTS = ("content", "contents", "file_text", "new_source", "text")
_PATCHES = ("input", "patch", "patchText", "patch_text", "diff")
_BEGIN = "*** Begin Patch"
_FILE = re.compile(r"^\*\*\* (Update|Add|Delete) File: *(\S.*)$", re.MULTILINE)
_OF_PATCH: Mapping[str, Action] = {"Update": "edited", "Add": "written", "Delete": "deleted"}
_END = re.compile(r"^\*\*\* (?:End Patch|Update File|Add File|Delete File|Begin Patch).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Touch:
    """The effect of a call on one file, or the command that it ran. `diff` is None if it changed nothing."""

    action: Action
    path: str = ""
    command: str = ""
    diff: Diff | None = None


def touches(tool: str, arguments: Json) -> list[Touch]:
    """Return what a call did; nothing of one that is about no file and runs no command."""
    patch = _patch(arguments)
    if patch:
        return list(_of_patch(patch))
    fields = arguments if isinstance(arguments, dict) else {}
    command, path = command_of(arguments), _path(fields)
    if path and command in _EDITOR:
        return [_touch(_EDITOR[command], path, fields)]
    if command:
        return [Touch("command", command=clean(command, COMMAND_MAX))]
    action = action_of(tool)
    return [_touch(action, path, fields)] if path and action else []


def action_of(tool: str) -> Action | None:
    """Return what a tool does to a file, as far as the words of its name say."""
    words = {word.lower() for word in _WORD.findall(tool[:200].rpartition("__")[2])}
    return next((action for action, named in _WORDS if words & named), None)


def _touch(action: Action, path: str, fields: Mapping[str, Json]) -> Touch:
    return Touch(action, path, diff=_diff(action, fields))


def _diff(action: Action, fields: Mapping[str, Json]) -> Diff | None:
    if action == "written":
        return difference([("", _first(fields, _CONTENTS))])
    if action != "edited":
        return None
    edits = fields.get("edits")
    each = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [fields]
    pairs = [pair for edit in each if (pair := _pair(edit)) is not None]
    return difference(pairs) if pairs else None


def _pair(fields: Mapping[str, Json]) -> tuple[str, str] | None:
    """Return the text before and after an edit; an insertion has none before."""
    for old, new in _PAIRS:
        before, after = fields.get(old), fields.get(new)
        if isinstance(after, str):
            return before if isinstance(before, str) else "", after
    after = _first(fields, _CONTENTS)
    return ("", after) if after else None


def _patch(arguments: Json) -> str:
    """Return the patch in arguments, "" if there is none."""
    if isinstance(arguments, str):
        found = [arguments]
    elif isinstance(arguments, dict):
        values = [arguments.get(name) for name in (*_PATCHES, "command", "cmd")]
        found = [
            text
            for value in values
            for text in (value if isinstance(value, list) else [value])
            if isinstance(text, str)
        ]
    else:
        return ""
    return next((text[text.index(_BEGIN) :] for text in found if _BEGIN in text), "")


def _of_patch(patch: str) -> Iterator[Touch]:
    for number, head in enumerate(_FILE.finditer(patch)):
        if number == FILES_MAX:
            return
        end = _END.search(patch, head.end())
        lines = patch[head.end() : end.start() if end else len(patch)].strip("\n").split("\n")
        changed = [line for line in lines if line[:1] in ("+", "-", " ", "@")]
        diff = Diff.of_lines(changed) if changed else None
        yield Touch(_OF_PATCH[head[1]], clean(head[2].strip(), PATH_MAX), diff=diff)


def _path(fields: Mapping[str, Json]) -> str:
    return clean(_first(fields, _PATHS).strip(), PATH_MAX)


def _first(fields: Mapping[str, Json], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str) and value), "")
