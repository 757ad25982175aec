"""Notes that mention a user and that the user has not opened yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.web import links
from recorder.models import Mention

SHOWN = 20
EXCERPT = 160


@dataclass(frozen=True, slots=True)
class Mentioned:
    """One note that mentions the user."""

    pk: int
    url: str
    author: str
    text: str
    session_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Mentions:
    """The newest unread mentions of a user; root of the panel attention/mentions."""

    rows: Sequence[Mentioned]


@dataclass(frozen=True, slots=True)
class MentionsOf:
    """The query of the panel in one project; its keys are users."""

    project: int

    def __call__(self, users: Collection[int]) -> Mapping[int, Mentions]:
        """Return the mentions of users. One query a user."""
        return {user: Mentions(self._rows(user)) for user in users}

    def _rows(self, user: int) -> list[Mentioned]:
        rows = Mention.objects.filter(user=user, seen_at=None, note__project=self.project)
        found = rows.select_related("note__project").order_by("-note_id")[:SHOWN]
        return [
            Mentioned(
                each.note.pk,
                links.note_page(each.note.project.slug, each.note.parent_id or each.note.pk),
                each.note.author,
                each.note.text[:EXCERPT],
                each.note.session_id,
                each.note.created_at,
            )
            for each in found
        ]
