"""Recorded lines of selected sessions, session by session, for one file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dashboard.shared.session_json.queries.lines import chunks
from dashboard.shared.session_json.queries.sessions import session_items
from recorder.models import Project, Session


def has_all(project: Project, pks: Sequence[int]) -> bool:
    """Return whether all these sessions are of the project. One query."""
    return Session.objects.filter(project=project, pk__in=pks).count() == len(set(pks))


def lines(project: Project, pks: Sequence[int]) -> Iterator[bytes]:
    """Yield of each session a line with the item of the read API, then its recorded lines in envelopes.

    One that is deleted meanwhile is left out.
    """
    for pk in dict.fromkeys(pks):
        sessions = Session.objects.filter(project=project, pk=pk).defer("formation", "summary", "working_dir")
        for session, item in zip(sessions, session_items(project, list(sessions)), strict=True):
            yield json.dumps({"session": item.model_dump(mode="json")}).encode() + b"\n"
            yield from chunks(session, envelope=True)
