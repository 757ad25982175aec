"""URLs of everything that two pages or more link to. Each function returns a path with its query string."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import quote, urlencode

from django.urls import reverse

Value: TypeAlias = str | int | tuple[str, ...]  # a tuple repeats the parameter


# The session that is rendered as of an event, and the event: its links keep `at`.
_past: ContextVar[tuple[int, int] | None] = ContextVar("past", default=None)


@contextmanager
def staying(session_pk: int, at: int) -> Iterator[None]:
    """Within the context, links to a session's pages lead to them as of an event."""
    token = _past.set((session_pk, at))
    try:
        yield
    finally:
        _past.reset(token)


def is_as_of() -> bool:
    """Return whether links lead to the pages of a session as of an event: within `staying`."""
    return _past.get() is not None


def as_of_event() -> int | None:
    """Return the event as of which a page is rendered: within `staying`."""
    past = _past.get()
    return past[1] if past is not None else None


def sessions(slug: str, **query: Value) -> str:
    """Return the sessions list, filtered as `query` says."""
    return _with(_to("sessions", slug), query)


def search_text(slug: str, **query: Value) -> str:
    """Return the search in all recorded text, with the query string `query`."""
    return _with(_to("search_text", slug), query)


def session(slug: str, pk: int) -> str:
    """Return a session's page; it opens at its newest running loop, else at its last root."""
    return _with(_to("session", slug, pk), _at(pk))


def as_of(slug: str, pk: int, event: int | None, *, loop: int | None = None, **query: Value) -> str:
    """Return a session's page as of an event, or its current state for None; opened at a loop if given."""
    path = _to("loop", slug, pk, loop) if loop else _to("session", slug, pk)
    return _with(path, {"at": event or "", **query})


def session_search(slug: str, pk: int, q: str) -> str:
    """Return the search for words within a session."""
    return _with(_to("session-search", slug, pk), {"q": q})


def jump(slug: str, pk: int, to: str) -> str:
    """Return the redirect to the next error, winner or waiting loop of a session."""
    return _with(_to("session-jump", slug, pk), _at(pk) | {"to": to})


def loop(slug: str, session_pk: int, pk: int, **query: Value) -> str:
    """Return a loop's place on its session's page."""
    return _with(_to("loop", slug, session_pk, pk), _at(session_pk) | query)


def loop_record(slug: str, session_pk: int, pk: int, of: str) -> str:
    """Return a loop as a JSON document: `of` is phi-core or api."""
    return _with(_to("loop-record", slug, session_pk, pk), _at(session_pk) | {"of": of})


def loop_deltas(slug: str, session_pk: int, pk: int, before: int) -> str:
    """Return the streaming deltas of a loop right before an event."""
    return _with(_to("loop-deltas", slug, session_pk, pk), {"before": before})


def turn_calls(slug: str, session_pk: int, loop: int, turn: int, **query: Value) -> str:
    """Return a group of the calls of a turn; `turn` is its position in the loop."""
    return _with(_to("turn-calls", slug, session_pk, loop, turn), _at(session_pk) | query)


def turn_passage(slug: str, session_pk: int, loop: int, turn: int, first: int, last: int) -> str:
    """Return the part of a turn, or of what precedes it, from one event up to another."""
    query = _at(session_pk) | {"first": first, "last": last}
    return _with(_to("turn-passage", slug, session_pk, loop, turn), query)


def event(slug: str, pk: int) -> str:
    """Return the permalink of one recorded event."""
    return _to("event", slug, pk)


def event_raw(slug: str, pk: int) -> str:
    """Return one recorded line, byte for byte."""
    return _to("event-raw", slug, pk)


def event_text(slug: str, pk: int, at: str) -> str:
    """Return the whole of one text inside an event; `at` is its path: message.content.0.text."""
    return _with(_to("event-text", slug, pk), {"at": at})


def event_image(slug: str, event: int, at: str) -> str:
    """Return an image inside an event; `at` is its path: message.content.1."""
    return _with(_to("event-image", slug, event), {"at": at})


def session_lines(slug: str, session_id: str, **query: Value) -> str:
    """Return the read API's endpoint of a session's recorded lines."""
    return _with(f"/api/v1/sessions/{quote(session_id, safe='')}/events", {"project": slug, **query})


def session_export(slug: str, session_id: str, **query: Value) -> str:
    """Return the read API's export of a session."""
    return _with(f"/api/v1/sessions/{quote(session_id, safe='')}/export", {"project": slug, **query})


def flame(slug: str, session_pk: int, **query: Value) -> str:
    """Return the flame graph of a session."""
    return _with(_to("flame", slug, session_pk), query)


def compactions(slug: str, **query: Value) -> str:
    """Return the list of compactions, filtered as `query` says."""
    return _with(_to("compactions", slug), query)


def compaction(slug: str, session_pk: int, pk: int) -> str:
    """Return the page that compares the context before and after a compaction."""
    return _to("compaction", slug, session_pk, pk)


def compaction_of(slug: str, event: int) -> str:
    """Return the redirect to the compaction of an event."""
    return _to("compaction-of", slug, event)


def evaluations(slug: str, **query: Value) -> str:
    """Return the list of evaluations, filtered as `query` says."""
    return _with(_to("evaluations", slug), query)


def evaluation(slug: str, pk: int) -> str:
    """Return the page of one evaluation."""
    return _to("evaluation", slug, pk)


def note(
    slug: str, session_pk: int, pk: int, *, loop: int | None, turn: int | None, evaluation: int | None
) -> str:
    """Return the place of a note: its turn, its loop, its evaluation or the rail of its session."""
    if evaluation is not None:
        return f"{_to('evaluation', slug, evaluation)}#note-{pk}"
    if loop is None:
        return f"{_with(_to('session', slug, session_pk), _at(session_pk) | {'notes': 'all'})}#note-{pk}"
    query = {"turn": "" if turn is None else turn + 1, "notes": "all"}
    return f"{_with(_to('loop', slug, session_pk, loop), _at(session_pk) | query)}#note-{pk}"


def note_page(slug: str, pk: int) -> str:
    """Return the page of one note."""
    return _to("note", slug, pk)


def new_note(slug: str, session_pk: int, **query: Value) -> str:
    """Return the form that writes a note on a session, or on the part of it that the query names."""
    return _with(_to("note-new", slug, session_pk), query)


def new_note_on_several(slug: str, kind: str, sessions: Iterable[int], name: str = "") -> str:
    """Return the form that writes an entry of a kind on each of some sessions; `name` is that of a score."""
    pairs = [*(("of", pk) for pk in sessions), *([("name", name)] if name else [])]
    return f"{_to(f'{kind}-on-several', slug)}?{urlencode(pairs)}"


def attention(slug: str, **query: Value) -> str:
    """Return the attention page."""
    return _with(_to("attention", slug), query)


def mark_failures_read(slug: str) -> str:
    """Return the form action that marks failures as read."""
    return _to("attention-seen", slug)


def insights(slug: str, **query: Value) -> str:
    """Return the insights page."""
    return _with(_to("insights", slug), query)


def integrity(slug: str) -> str:
    """Return the integrity page: rejected lines and inconsistencies."""
    return _to("integrity", slug)


def orphan(slug: str, pk: int) -> str:
    """Return the list of orphan events from one on."""
    return _with(integrity(slug), {"list": "orphans", "before": pk + 1}) + f"#event-{pk}"


def page(name: str, slug: str) -> str:
    """Return a page of a project by the name of its route."""
    return _to(name, slug)


def what_if(slug: str, **query: Value) -> str:
    """Return the page What if, of a session or a period as `query` says."""
    return _with(_to("what_if", slug), query)


def page_of_view(name: str, slug: str) -> str:
    """Return the list page of saved views; `name` is that of the read API."""
    return _to({"search": "search_text"}.get(name, name), slug)


def live(slug: str, page: str, **query: Value) -> str:
    """Return the URL of a page socket."""
    return _with(f"/p/{slug}/live/{page}", query)


def _to(route: str, slug: str, *numbers: int) -> str:
    return _route(route, slug, len(numbers)).format(*numbers)


@lru_cache(maxsize=2_000)
def _route(route: str, slug: str, numbers: int) -> str:
    """Return a URL with placeholders for numbers: `reverse` takes 30 µs, and a page has a hundred links."""
    marks = range(10**15, 10**15 + numbers)
    address = reverse(route, args=(slug, *marks))
    for mark in reversed(marks):  # from the right: the slug before them may look like a mark
        before, _, after = address.rpartition(str(mark))
        address = f"{before}{{}}{after}"
    return address


def _at(session_pk: int) -> dict[str, Value]:
    past = _past.get()
    return {"at": past[1]} if past is not None and past[0] == session_pk else {}


def _with(path: str, query: Mapping[str, Value]) -> str:
    params = {name: value for name, value in query.items() if value != ""}
    return f"{path}?{urlencode(params, doseq=True)}" if params else path
