"""Query parameters of the page: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from dashboard.web.query_params import Address, Reading, whole_number
from recorder.core.files.touches import ACTIONS

if TYPE_CHECKING:
    from django.http import QueryDict

PATH_MAX = 500


@dataclass(frozen=True, slots=True)
class FilesParams(Address):
    """The query string: which actions are listed, of which file, and from which one on."""

    action: str = ""
    path: str = ""
    page: int = 1
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Self:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        action = read.choice("action", ACTIONS, "")
        path = params.get("path", "")[:PATH_MAX].replace("\0", "")
        return cls(action, path, whole_number(params.get("page", "")) or 1, tuple(read.notes))
