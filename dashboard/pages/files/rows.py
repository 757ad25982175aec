"""The touches of a session by file and in order, as rows with links. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from dashboard.pages.files.params import FilesParams
from dashboard.pages.files.queries import SessionFiles, Touched
from dashboard.query_language import print_query
from dashboard.query_language.choices import choose, is_valid
from dashboard.rendering.tool_text import difference
from dashboard.web import links
from recorder.core.files.touches import ACTIONS, Action

FILES, A_PAGE = 200, 50  # rows of both tables
WORDS: Mapping[Action, str] = {
    "read": "Read",
    "edited": "Edited",
    "written": "Written",
    "deleted": "Deleted",
    "command": "Command",
}
CHANGES: tuple[Action, ...] = ("edited", "written", "deleted")


@dataclass(slots=True)
class FileRow:
    """One file: how often it was touched, and the lines that edits and writes added and removed."""

    path: str
    href: str
    sessions: str  # the link to the sessions whose calls name it, "" if no query can say it
    reads: int = 0
    changes: int = 0
    compared: int = 0  # changes whose lines are known
    added: int = 0
    removed: int = 0

    def add(self, touched: Touched) -> None:
        """Count a touch; what a failed call would have changed is not counted."""
        self.reads += touched.touch.action == "read"
        if touched.touch.action in CHANGES and touched.call.state != "failed":
            self.changes += 1
            if touched.touch.diff is not None:
                self.compared += 1
                self.added += touched.touch.diff.added
                self.removed += touched.touch.diff.removed


@dataclass(frozen=True, slots=True)
class TouchRow:
    """One touch in order. `code` is the exit code of a command, None if none is recorded."""

    touched: Touched
    words: str
    href: str
    code: int | None
    diff: SafeString | None

    @property
    def has_failed(self) -> bool:
        return self.touched.call.state == "failed"


@dataclass(frozen=True, slots=True)
class Choice:
    """A link of the switch of actions, with how many touches it lists."""

    name: str
    count: int
    href: str
    is_chosen: bool


def file_rows(slug: str, params: FilesParams, all_touched: Iterable[Touched]) -> list[FileRow]:
    """Return the files, those with most changes first."""
    rows: dict[str, FileRow] = {}
    for touched in all_touched:
        path = touched.touch.path
        if path:
            if path not in rows:
                rows[path] = FileRow(path, params.but(path=path, page=1).query, _sessions(slug, path))
            rows[path].add(touched)
    return sorted(rows.values(), key=lambda row: (-row.changes, -row.reads, row.path))


def matching(params: FilesParams, all_touched: Iterable[Touched]) -> list[Touched]:
    """Return the touches that the parameters select."""
    return [
        touched
        for touched in all_touched
        if params.action in ("", touched.touch.action) and params.path in ("", touched.touch.path)
    ]


def touch_rows(slug: str, session: int, shown: Sequence[Touched], codes: Mapping[int, int]) -> list[TouchRow]:
    """Return touches as rows."""
    return [
        TouchRow(
            touched,
            WORDS[touched.touch.action],
            _call(slug, session, touched),
            codes.get(touched.call.pk),
            difference(touched.touch.diff.text) if touched.touch.diff and touched.touch.diff.text else None,
        )
        for touched in shown
    ]


def choices(params: FilesParams, files: SessionFiles) -> list[Choice]:
    """Return the switch of actions; those without a touch are left out."""
    of_path = [touched for touched in files.found if params.path in ("", touched.touch.path)]
    counts = Counter(touched.touch.action for touched in of_path)
    named = [("", "All", len(of_path)), *((name, WORDS[name], counts[name]) for name in ACTIONS)]
    return [
        Choice(words, count, params.but(action=name, page=1).query, name == params.action)
        for name, words, count in named
        if count or name == params.action
    ]


def _call(slug: str, session: int, touched: Touched) -> str:
    call = touched.call
    if call.turn is None:
        return links.loop(slug, session, call.loop)
    return f"{links.loop(slug, session, call.loop, turn=call.turn)}#session-tool-{call.pk}"


def _sessions(slug: str, path: str) -> str:
    if not is_valid("file", path):
        return ""
    return links.sessions(slug, q=print_query(choose(None, [("file", path)])), since="all")
