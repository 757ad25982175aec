"""The form of the test box: a pattern and a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import QueryDict

TEXT_CHARS = 20_000  # an own pattern may cost a scan of the text for each match


@dataclass(frozen=True, slots=True)
class Draft:
    """The entered values, and their errors."""

    name: str = ""
    pattern: str = ""
    text: str = ""
    name_error: str = ""
    pattern_error: str = ""


def draft_of(sent: QueryDict) -> Draft:
    """Return what was entered; a text is cut at `TEXT_CHARS`, line ends are those of Unix."""
    text = sent.get("text", "").replace("\r\n", "\n")
    return Draft(sent.get("name", "").strip(), sent.get("pattern", ""), text[:TEXT_CHARS])
