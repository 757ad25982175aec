"""The notes of a session in its HTML file: a section at its end."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.loader import render_to_string

from dashboard.notes.queries.entries import Entry, all_of_session
from dashboard.rendering.markdown import mark_controls
from recorder.models import Session


def notes_section(session: Session) -> bytes:
    """Return the section, nothing for a session without notes."""
    entries: Sequence[Entry] = all_of_session(session)
    if not entries:
        return b""
    html = render_to_string("session_file/notes.html", {"entries": entries})
    return mark_controls(html).encode(errors="replace")
