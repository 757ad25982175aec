"""Writes a session as one HTML file, a loop at a time.

The file has no script, and its content security policy lets it load nothing: styles and images are embedded.
What agents wrote is escaped or sanitised as on pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string

from dashboard.rendering.markdown import mark_controls
from dashboard.shared.session_file.entries import parts_of
from dashboard.shared.usage_bar import kinds
from recorder.core.records import ChildRef, Loop
from recorder.models import Session
from recorder.projection.export import recorded_loops

CSS = Path(settings.ASSETS) / "static" / "css"
SHEETS = (
    *("tokens.css", "base.css", "components/components.css", "components/message_text.css"),
    *("session/conversation.css", "session/file.css"),
)
INDENT_MAX = 4  # steps in the table of contents
_LOADED = re.compile(r"@font-face \{.*?\}\n|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ContentsRow:
    """A loop in the table of contents; depth 0 has no caller in the session."""

    anchor: str
    name: str
    depth: int
    loop: Loop

    @property
    def indent(self) -> int:
        return min(self.depth, INDENT_MAX)

    @property
    def state(self) -> str:
        return self.loop.outcome or self.loop.status

    @property
    def elapsed(self) -> timedelta | None:
        begun, ended = self.loop.started_at, self.loop.ended_at
        return ended - begun if begun is not None and ended is not None else None


def html_file(session: Session, notes: bytes = b"") -> Iterator[bytes]:
    """Yield the parts of the file, `notes` after the loops. Raises Pruned.

    Cost: the events of one loop are in memory at once, without streamed updates.
    """
    loops, refs, recorded = recorded_loops(session)
    rows = _rows([loop for loop in loops if loop.started_at is not None], refs)
    anchors = {row.loop: row.anchor for row in rows}
    context = {"session": session, "rows": rows, "kinds": kinds(session)}
    # Text of agents is escaped in the file: the first of these tags are the template's.
    document = _render("session_file/index.html", context)
    begun, end_of_main, ended = document.partition(b"</main>")
    yield begun.replace(b"</head>", b"<style>%s</style></head>" % _styles(), 1)
    for row in rows:
        children = {
            ref.tool_call_id: anchors[ref.child]
            for ref in refs
            if ref.loop is row.loop and ref.child is not None and ref.child in anchors
        }
        parts = parts_of(recorded(row.loop), children)
        yield _render("session_file/loop.html", {"row": row, "parts": parts})
    yield notes + end_of_main + ended


def _render(template: str, context: Mapping[str, object]) -> bytes:
    return mark_controls(render_to_string(template, dict(context))).encode(errors="replace")


def _rows(loops: Sequence[Loop], refs: Sequence[ChildRef]) -> list[ContentsRow]:
    """Return the loops in order, each sub-agent after the loop that started it."""
    callers = {ref.child: ref.loop for ref in refs if ref.child is not None}
    below: dict[Loop | None, list[Loop]] = {}
    known = set(loops)
    for loop in loops:
        caller = callers.get(loop)
        below.setdefault(caller if caller in known and caller is not loop else None, []).append(loop)
    rows: list[ContentsRow] = []
    waiting = [(loop, 0) for loop in reversed(below.get(None, []))]
    while waiting:
        loop, depth = waiting.pop()
        name = loop.agent_label or loop.agent_id or loop.loop_id
        rows.append(ContentsRow(f"loop-{len(rows) + 1}", name, depth, loop))
        waiting += [(each, depth + 1) for each in reversed(below.get(loop, []))]
    return rows


@cache
def _styles() -> bytes:
    """Return the style sheets without what they would load."""
    text = "\n".join((CSS / name).read_text() for name in SHEETS)
    return _LOADED.sub("", text).encode()
