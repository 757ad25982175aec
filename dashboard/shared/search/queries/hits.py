"""Hits as people read them: a snippet of the text, made from the stored line, with the words marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Coalesce

from dashboard.query_language.nodes import Node
from dashboard.query_language.words import positive_words
from recorder.core.search.event_texts import texts_of
from recorder.core.search.fold import decode_escapes
from recorder.core.search.snippets import Searched, Snippet, pattern, snippet
from recorder.journal.read import texts
from recorder.models import EventRecord
from recorder.search.documents import NAMES, decode
from recorder.search.queries import Found


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where words stand. `ranges` count characters of the snippet; `event` is None for a title."""

    kind: str
    loop: int | None
    turn: int | None
    event: int | None
    at: datetime | None
    snippet: str
    ranges: tuple[tuple[int, int], ...]


def hits(project: int, node: Node | None, found: Iterable[Found]) -> dict[int, Hit]:
    """Return hits by the primary keys of their documents. Three queries for any number.

    A line that was pruned since it was indexed has an empty snippet.
    """
    documents = list(found)
    patterns = [
        each for words in positive_words(node) if (each := pattern(words.text, is_prefix=words.is_prefix))
    ]
    events = {hit.event for hit in documents if hit.event is not None and not hit.text}
    records = EventRecord.objects.filter(journal__project=project, pk__in=events)
    times = dict(records.values_list("pk", Coalesce("occurred_at", "journal__received_at")))
    read = _texts(set(times))
    made: dict[int, Hit] = {}
    for hit in documents:
        kind = NAMES[hit.kind]
        text = hit.text or read.get((hit.event or 0, kind), "")
        shown = _title(text, patterns) if kind == "title" else _snippet(text, patterns)
        event = None if kind == "title" else hit.event
        at = hit.at or times.get(hit.event or 0)
        made[hit.pk] = Hit(kind, hit.loop, hit.turn, event, at, shown.text, shown.ranges)
    return made


def _texts(events: Iterable[int]) -> Mapping[tuple[int, str], str]:
    """Return the texts of events by event and kind."""
    text_of: dict[tuple[int, str], str] = {}
    for line, raw in texts(list(events)).items():
        event = decode(raw)
        kind = event.get("type")
        for text in texts_of(kind, event) if isinstance(kind, str) else ():
            before = text_of.get((line, text.kind))
            text_of[line, text.kind] = text.text if before is None else f"{before}\n{text.text}"
    return text_of


def _title(text: str, patterns: Sequence[Searched]) -> Snippet:
    """Return what matches of the title, the agent and the id of a session, the title first."""
    snippets = [_snippet(line, patterns) for line in text.split("\n")]
    return next((shown for shown in snippets if shown.ranges), snippets[0])


def _snippet(text: str, patterns: Sequence[Searched]) -> Snippet:
    return snippet(decode_escapes(text), patterns)
