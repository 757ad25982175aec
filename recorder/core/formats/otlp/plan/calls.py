"""Spans that describe one model call, and log records that complete it.

Two spans are one call when one is a descendant of the other without an agent or tool between them; when one
without messages and usage precedes the other beside it; when two instrumentations write them beside each
other, as of `siblings`; when they share the provider's id of the response and overlap in time, as an id may
come again from a cache or a local model; or when a parentless span of a provider's client lies inside the
other's time, with the same model and tokens: some instrumentations count the one output token of Anthropic's
first stream event twice. The outer one gives the structure, the others what it lacks.

Cost: O(n log n) for n spans and log records. Of calls that overlap in time with equal figures the first
`AROUND_MAX` are looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import count, islice, pairwise

from recorder.core.formats.otlp.plan import siblings
from recorder.core.formats.otlp.plan.by_time import ByTime
from recorder.core.formats.otlp.plan.calls_of_notes import AROUND_MAX, TEXTS, CallsOfNotes
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.core.formats.otlp.spans.usage import tokens
from recorder.core.records import Json

Key = tuple[str, str]  # trace and span id
_UNNAMED = "unnamed-call-"
_UNNAMED_ID = re.compile(rf"{_UNNAMED}([0-9]+)-[0-9a-f]*")
_ANSWER = "gen_ai.assistant.message"  # log record of an answer that a later call was sent
_SAME_MAX = 8  # calls with one id of the response at one time that are distinguished
CLIENTS = frozenset(("anthropic", "openai"))  # clients that emit spans of their own beside a framework's
SKEW_NS = 2_000_000_000  # clocks of two processes differ at most so much


@dataclass(slots=True)
class Call:
    """One model call: the span that gives its structure, and what else describes it."""

    span: Digest
    others: list[Digest] = field(default_factory=list)
    notes: list[Digest] = field(default_factory=list)  # log records
    failures: list[Digest] = field(default_factory=list)  # log records of failed requests that it repeats
    figures: Digest | None = None  # the agent or frame above it, if that alone reports usage and cost
    text: Digest | None = None  # the span of its agent, if that alone has the answer

    @property
    def sources(self) -> list[Digest]:
        """Return the spans and log records that may hold its content, the first one first."""
        return [self.span, *self.others, *self.notes]

    @property
    def usage(self) -> dict[str, int] | None:
        found = self.span.usage
        for other in self.others:
            found = tokens.merged(found, other.usage)
        for note in self.notes:
            if note.usage is not None and (found is None or len(note.usage) > len(found)):
                found = note.usage
        return self.figures.usage if found is None and self.figures is not None else found

    @property
    def cost_nano(self) -> int:
        lines = self.sources if self.figures is None else [*self.sources, self.figures]
        return max(each.cost_nano for each in lines)

    @property
    def calls(self) -> list[list[str]]:
        """Return id and name of each tool call of the answer; one without an id gets one by its place."""
        found = next((each.calls for each in self.sources if each.calls), [])
        places = count()
        return [[call or f"{_UNNAMED}{next(places)}-{self.span.id}", name] for call, name in found]

    @property
    def hosted(self) -> list[tuple[str, str, bool]]:
        """Return id, name and failure of each of `calls` that the provider ran."""
        found, calls = next((each.hosted for each in self.sources if each.calls), []), self.calls
        places = ((int(str(place)), bool(failed)) for place, failed in found)
        return [(*calls[place], failed) for place, failed in places if place < len(calls)]  # type: ignore[misc]

    @property
    def asks(self) -> list[str]:
        """Return the fingerprint of each of `calls`, as of `content.history`; "" if it is not known."""
        found = next((each for each in self.sources if each.calls), self.span)
        return [*found.asks, *[""] * len(found.calls)][: len(found.calls)]

    @property
    def results(self) -> list[list[Json]]:
        whole = (each.results for each in self.sources if each.results and not each.is_message)
        return next(whole, None) or [result for each in self.new_messages for result in each.results]

    @property
    def new(self) -> str:
        whole = (each.new for each in self.sources if each.new and not each.is_message)
        return next(whole, "") or " ".join(each.new for each in self.new_messages if each.new)

    @property
    def new_messages(self) -> list[Digest]:
        """Return the log records with one message each that follow the last answer of the input."""
        found = sorted((note for note in self.notes if note.is_message), key=lambda note: note.message_order)
        answers = (place for place, each in enumerate(found) if each.name == _ANSWER)
        return found[max(answers, default=-1) + 1 :]

    def first(self, name: str) -> str:
        """Return the first text that a source has in a field."""
        return next((found for each in self.sources if (found := str(getattr(each, name)))), "")


def unnamed_place(call_id: str) -> int | None:
    """Return the place of a tool call among those without an id in its answer; None for another."""
    found = _UNNAMED_ID.fullmatch(call_id)
    return int(found[1]) if found else None


def key_of(digest: Digest) -> Key:
    return digest.trace, digest.id


def calls_of(spans: dict[Key, Digest], notes: Sequence[Digest]) -> list[Call]:
    """Return the model calls of some spans in order of their start; notes complete them."""
    models = [span for span in spans.values() if span.kind == "model"]
    joined = _Joined(_outermost(models, spans))
    _join_preparations(models, joined)
    _join_by_response(models, joined)
    for span, other in list(siblings.model_pairs(span for span in models if joined.is_outer(span))):
        joined.add(span, other)
    _join_by_time(models, joined)
    calls = {key: Call(spans[key]) for key, of in joined.outer.items() if of == key}
    for key, of in joined.outer.items():
        if key != of:
            calls[of].others.append(spans[key])
    ordered = sorted(calls.values(), key=lambda call: (call.span.start, call.span.end, call.span.id))
    _add_notes(ordered, notes)
    return ordered


class _Joined:
    """The spans that are one call: by key of a span the key of the one that gives the structure."""

    def __init__(self, outer: dict[Key, Key]) -> None:
        self.outer = outer
        self._inner: dict[Key, list[Key]] = defaultdict(list)
        for key, of in outer.items():
            self._inner[of].append(key)

    def is_outer(self, span: Digest) -> bool:
        return self.outer[key_of(span)] == key_of(span)

    def add(self, span: Digest, to: Digest) -> None:
        """Add an outer span, with those inside it, to another outer one."""
        inner = self._inner.pop(key_of(span))
        self._inner[key_of(to)] += inner
        self.outer.update(dict.fromkeys(inner, key_of(to)))


def _outermost(models: Sequence[Digest], spans: dict[Key, Digest]) -> dict[Key, Key]:
    """Return for each model span the outermost one above it, or itself, without an agent or tool between.

    Of spans in a circle, each of which names the next one as its parent, it is the one with the first key.
    """
    top: dict[Key, Key | None] = {}  # the outermost model span at or above a span
    for model in models:
        path: dict[Key, Digest] = {}
        above: Digest | None = model
        while above is not None and above.kind not in ("agent", "tool"):
            if key_of(above) in path or key_of(above) in top:
                break
            path[key_of(above)] = above
            above = spans.get((above.trace, above.parent))
        if above is not None and key_of(above) in path:
            circle = list(path)[list(path).index(key_of(above)) :]
            first = min((key for key in circle if spans[key].kind == "model"), default=None)
            top.update(dict.fromkeys(circle, first))
        found = top.get(key_of(above)) if above is not None else None
        for key in reversed(path):
            own = key if path[key].kind == "model" else None
            found = top[key] = top.get(key, found or own)
    return {key: top[key] or key for key in map(key_of, models)}


def _join_preparations(models: Sequence[Digest], joined: _Joined) -> None:
    """Join spans that only prepare a call, without messages or usage, to the next span beside them.

    LlamaIndex gives the preparation of a request the kind of a model call, and logfire has a span of its own
    for the answer of a stream.
    """
    beside: dict[tuple[str, str, str, str], list[Digest]] = defaultdict(list)
    for span in models:
        if span.parent and joined.is_outer(span):
            beside[span.trace, span.parent, span.runtime, span.model].append(span)
    for spans in beside.values():
        for span, following in pairwise(spans):
            is_answered = bool(following.answer) and not span.answer
            if _is_empty(span) and (is_answered or not _is_empty(following)) and following.start >= span.end:
                joined.add(span, following)


def _is_empty(span: Digest) -> bool:
    has_messages = span.has_text and not span.is_whole
    return span.usage is None and not (has_messages or span.error or span.response or span.finish)


def _join_by_response(models: Sequence[Digest], joined: _Joined) -> None:
    of_response: dict[str, list[Digest]] = defaultdict(list)
    for span in models:
        if span.response and joined.is_outer(span):
            of_response[span.response].append(span)
    for same in of_response.values():
        for together in overlapping(same, SKEW_NS):
            # The span with a parent and with messages is the framework's.
            together.sort(key=lambda span: (not span.parent, not span.has_text, span.start, span.id))
            outer: list[Digest] = []
            for span in together:
                into = next((other for other in outer[:_SAME_MAX] if _is_same_response(span, other)), None)
                if into is not None:
                    joined.add(span, into)
                else:
                    outer.append(span)


def _is_same_response(span: Digest, other: Digest) -> bool:
    """Return whether two spans with one id of the response are one call: models may repeat such ids, too.

    In two traces they must be of one service and no other, without answers that differ.
    """
    if span.trace == other.trace:
        return True
    if span.service != other.service or are_apart(span, other):
        return False
    return not (span.answer and other.answer) or span.answer == other.answer


def are_apart(span: Digest, other: Digest) -> bool:
    """Return whether two lines are of different people or sessions; one that names neither may be of any."""
    ids, others = (span.session, span.user), (other.session, other.user)
    if not any(ids) or not any(others):
        return False
    both = [(one, two) for one, two in zip(ids, others, strict=True) if one and two]
    return not both or any(one != two for one, two in both)


def overlapping(spans: Sequence[Digest], skew_ns: int = 0) -> list[list[Digest]]:
    """Return groups of spans that overlap in time, or nearly: by so much as two clocks differ."""
    groups: list[list[Digest]] = []
    latest = 0
    for span in sorted(spans, key=lambda span: (span.start, span.id)):
        if not groups or span.start >= latest + skew_ns:
            groups.append([])
        groups[-1].append(span)
        latest = max(latest, span.end)
    return groups


def _join_by_time(models: Sequence[Digest], joined: _Joined) -> None:
    """Join the spans of clients to those around them, first to those that report the same output tokens."""
    counted = [span for span in models if joined.is_outer(span)]
    clients = [span for span in counted if is_client(span)]
    if not clients:
        return
    around = _Around(counted)
    with_client: set[Key] = set()  # spans whose client reports the same figures
    for more_output in (0, 1):
        for span in clients:
            found = (
                other
                for other in islice(around.spans(span, more_output), AROUND_MAX)
                if joined.is_outer(span)
                and joined.is_outer(other)
                and not (more_output and key_of(other) in with_client)
                and _may_be_one(span, other)
            )
            if (other := next(found, None)) is not None:
                joined.add(span, other)
                with_client.add(key_of(other))


def is_client(span: Digest) -> bool:
    """Return whether a span may be that of a provider's client inside a framework's, as nothing else says.

    Other clients than Anthropic's name the response of a call, unless it failed.
    """
    if span.usage is None and span.error:
        return span.runtime in CLIENTS
    return span.runtime == "anthropic" and not span.has_text


class _Around:
    """Spans by what a client's span inside them must have equal, and by time."""

    def __init__(self, counted: Sequence[Digest]) -> None:
        self._place = {key_of(span): place for place, span in enumerate(counted)}
        by_figures: dict[tuple[Json, ...], list[Digest]] = defaultdict(list)
        for span in sorted(counted, key=lambda span: span.start):
            output = span.usage["output"] if span.usage is not None else None
            by_figures[*self._figures(span), output, ""].append(span)
            by_figures[*self._figures(span), output, span.trace, span.parent].append(span)
        self._by_figures = {
            figures: ByTime(spans, lambda span: span) for figures, spans in by_figures.items()
        }

    def spans(self, span: Digest, more_output: int) -> Iterator[Digest]:
        """Yield the spans around one whose output tokens differ by a number, in the order of `counted`."""
        if span.usage is None:
            outputs: set[int | None] = set() if more_output else {None}
        else:
            outputs = {span.usage["output"] - more_output, span.usage["output"] + more_output}
        place = (span.trace, span.parent) if span.parent else ("",)
        groups = (self._by_figures.get((*self._figures(span), output, *place)) for output in outputs)
        found = (group.between(span.end, span.start) for group in groups if group is not None)
        return merge(*found, key=lambda other: self._place[key_of(other)])

    @staticmethod
    def _figures(span: Digest) -> tuple[Json, ...]:
        return span.service, span.model, span.usage["total_in"] if span.usage is not None else None


def _may_be_one(span: Digest, other: Digest) -> bool:
    """Return whether a span may be of the same call as one around it: two ids of responses are two calls."""
    is_other = other is not span and other.emitter != span.emitter
    return is_other and not (span.response and other.response) and not are_apart(span, other)


def _add_notes(calls: Sequence[Call], notes: Sequence[Digest]) -> None:
    """Give each call the log records of its span, and those without one that match it by usage and time."""
    by_span: dict[Key, list[Digest]] = defaultdict(list)
    for note in notes:
        by_span[note.trace, note.id].append(note)
    taken: set[int] = {id(call.span) for call in calls}
    for call in calls:
        for note in by_span.get(key_of(call.span), ()):
            if note.has_text and id(note) not in taken and call.span.id:
                call.notes.append(note)
                taken.add(id(note))
    loose = [note for note in notes if id(note) not in taken and (note.usage or note.name in TEXTS)]
    around = CallsOfNotes(calls)
    named = {(id(call), note.name) for call in calls for note in call.notes}  # a call has one of a name
    for note in sorted(loose, key=lambda note: (note.start, note.name, note.print)):
        fitting = [
            call
            for call in around.calls(note)
            if not (call.span.is_log or (id(call), note.name) in named or are_apart(note, call.span))
        ]
        if fitting:
            nearest = min(fitting, key=lambda call: (abs(note.start - call.span.end), call.span.start))
            nearest.notes.append(note)
            named.add((id(nearest), note.name))
