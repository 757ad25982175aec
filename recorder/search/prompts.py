"""Prompts are indexed once, though start, end and requests of a loop repeat them beside their message.

The key of a prompt's document is the digest of its text and a mark of its event. Invariant: which
documents there are follows from the lines in their order, whichever steps read them.

Cost: one query a step, which reads the documents of the sessions that have prompts in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from recorder.core.search.event_texts import digest
from recorder.database import sql
from recorder.models import SearchDocument
from recorder.search import documents
from recorder.search.documents import REPEATED, STARTED, Document

_DIGEST = len(digest(""))

Events = dict[tuple[int | None, str], int | None]  # by session or loop, and digest


def once(found: Sequence[Document]) -> list[Document]:
    """Leave out repeated prompts that their session has, and messages that their loop started with."""
    prompts = [document for document in found if document.part.kind == SearchDocument.PROMPT]
    of_session, of_start = _indexed(prompts)
    chosen = []
    for document in found:
        if document.part.kind != SearchDocument.PROMPT:
            chosen.append(document)
            continue
        place, text, mark = document.place, document.part.key[:_DIGEST], document.part.key[_DIGEST:]
        earlier = of_session.get((place.session, text)) if mark else of_start.get((place.loop, text))
        if earlier not in (None, place.event):
            continue
        of_session.setdefault((place.session, text), place.event)
        if mark == STARTED:
            of_start.setdefault((place.loop, text), place.event)
        chosen.append(document)
    return chosen


def _indexed(prompts: Sequence[Document]) -> tuple[Events, Events]:
    """Return the events by which prompts are in the index: by session, and by the loop that they started."""
    of_session: Events = {}
    of_start: Events = {}
    if not prompts:
        return of_session, of_start
    texts = {document.part.key[:_DIGEST] for document in prompts}
    statement = f"""SELECT session, loop, event, key FROM {documents.DOCUMENTS}
    WHERE {sql.in_list("session")} AND {sql.in_list("key")} AND kind = {SearchDocument.PROMPT}
    AND NOT is_gone"""
    keys = [text + mark for text in sorted(texts) for mark in ("", STARTED, REPEATED)]
    sessions = {document.place.session for document in prompts}
    for session, loop, event, of in sql.read(statement, sql.list_param(sessions), sql.list_param(keys)):
        of_session[session, of[:_DIGEST]] = event
        if of[_DIGEST:] == STARTED:
            of_start[loop, of[:_DIGEST]] = event
    return of_session, of_start
