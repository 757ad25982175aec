"""One loop as a JSON document: phi-core's record or the read API's item; or a brief of its session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import cast

from dashboard.pages.session.events.bodies import decode, pretty
from dashboard.pages.session.params import Record
from dashboard.shared.session_json.brief import text as brief_text
from dashboard.shared.session_json.queries.brief import brief
from dashboard.shared.session_json.queries.loops import loop_item
from dashboard.web import links
from recorder.core.records import Json
from recorder.journal.read import Pruned
from recorder.models import Session
from recorder.projection.export import phi_loop

SHOWN = 256_000  # characters shown on a page; the download is complete


@dataclass(frozen=True, slots=True)
class Document:
    """A loop's document, truncated to SHOWN characters."""

    text: str
    size: int
    url: str
    of: Record
    pruned_on: date | None = None  # when set, `text` is empty

    @property
    def is_cut(self) -> bool:
        return len(self.text) < self.size


def document(session: Session, loop: int, of: Record) -> Document:
    """Return a loop's document as shown on its page."""
    url = links.loop_record(session.project.slug, session.pk, loop, of)
    try:
        whole = text(session, loop, of)
    except Pruned as gone:
        return Document("", 0, url, of, gone.day)
    return Document(whole[:SHOWN], len(whole), url, of)


def text(session: Session, loop: int, of: Record) -> str:
    """Return a loop's document. Raises Pruned."""
    if of == "brief":
        return brief_text(brief(session.project, session))
    if of == "phi-core":
        return pretty(cast("Json", phi_loop(session, loop)))
    item = loop_item(session.project, loop)
    return pretty(dict(decode(item.model_dump_json(by_alias=True).encode())) if item else None)
