"""Model calls and tools from the log records of agents that send no spans of them, and failed requests.

A record tells when something ended and how long it took. Records of one prompt are one loop, those of a
sub-agent another one. Codex and Gemini CLI number no prompts, so a prompt lasts until the next one.

Cost: O(n log n) for n records and calls.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from recorder.core.formats.otlp.plan.by_time import ByTime
from recorder.core.formats.otlp.plan.calls import Call, Key
from recorder.core.formats.otlp.plan.loops import LoopPlan
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.core.formats.otlp.spans.failures import RECORDS
from recorder.core.formats.otlp.spans.log_records import CALLS, FAILURES, TEXT, TOOLS
from recorder.core.formats.otlp.spans.names import DETAILS

_NEAR_NS = 5_000_000_000  # the text of an answer is written at most so long before or after the call's record
NEAR_MAX = 25  # texts of a session before or after the end of a call that are looked at
_RETRY_NS = 600_000_000_000  # a request is tried again at most so long after it failed
_PROMPT = "user_prompt"


class _Times:
    """When prompts and requests of each session began, to be searched by bisection."""

    def __init__(self, notes: Iterable[Digest]) -> None:
        self.prompts: dict[str, list[int]] = defaultdict(list)
        self._requests: dict[str, list[tuple[int, int]]] = defaultdict(list)  # end and start
        for note in notes:
            if note.name.endswith(_PROMPT):
                self.prompts[note.session].append(note.start)
            elif note.name == "codex.api_request" and not note.error:
                self._requests[note.session].append((note.end, note.end - note.lasted))
        for found in (*self.prompts.values(), *self._requests.values()):
            found.sort()  # type: ignore[attr-defined]

    def prompt(self, note: Digest) -> str:
        """Return the prompt that a record belongs to: the one that it names, else the last one before it."""
        if note.runtime == "claude-code":
            return note.prompt
        found = self.prompts.get(note.session, [])
        at = bisect_right(found, note.end)
        return str(found[at - 1]) if at else ""

    def request(self, note: Digest) -> int:
        """Return when an answer of Codex was asked for: its record has no duration."""
        found = self._requests.get(note.session, [])
        at = bisect_right(found, note.end, key=lambda times: times[0])
        return found[at - 1][1] if at else note.end


def with_exceptions(spans: Mapping[Key, Digest], notes: Sequence[Digest]) -> dict[Key, Digest]:
    """Return spans with the exceptions that log records report in them.

    A span whose status says success has not failed, nor has a call that was answered: it was tried again.
    """
    found = dict(spans)
    for note in notes:
        span = found.get((note.trace, note.id)) if note.name in RECORDS else None
        if span is not None and not (span.error or span.is_ok or span.answer or span.finish):
            found[note.trace, note.id] = replace(span, error=note.error)
    return found


def calls_of(notes: Sequence[Digest]) -> list[Call]:
    """Return the calls that log records alone report, in order of their start."""
    names = {note.child: note.agent for note in notes if note.name in TOOLS and note.agent}
    times = _Times(notes)
    reports = [note for note in notes if note.name in CALLS and note.usage is not None]
    # Gemini CLI writes both: what its own record reports has its texts in the other one.
    reports = reports or [note for note in notes if _has_details(note)]
    found = [Call(_model(note, times, names)) for note in reports]
    found.sort(key=lambda call: (call.span.start, call.span.end, call.span.print))
    _add_texts(found, notes)
    return found


def _has_details(note: Digest) -> bool:
    """Return whether a record has the details of a model call, as that of one whose span was not exported."""
    return note.name == DETAILS and bool(note.model) and (note.usage is not None or note.has_text)


def tools_of(notes: Sequence[Digest], calls: Sequence[Call]) -> list[Digest]:
    """Return the tools that log records report, as spans; each is of the agent whose call is before it."""
    times, found = _Times(notes), []
    of_prompt: dict[tuple[str, str], list[Digest]] = defaultdict(list)
    for call in calls:
        of_prompt[call.span.session, call.span.prompt].append(call.span)
    for note in notes:
        if note.name in TOOLS:
            start, prompt = note.end - note.lasted, times.prompt(note)
            span = _span(note, "tool", start=start, name=note.tool, prompt=prompt, owner=note.owner)
            own = of_prompt[note.session, prompt]
            before = bisect_right(own, start, key=_start)
            if before and not note.owner:
                span.owner = own[before - 1].owner
            found.append(span)
    return sorted(found, key=lambda span: (span.start, span.end, span.print))


def add_failures(calls: list[Call], notes: Sequence[Digest], traces: Collection[str]) -> None:
    """Give failed requests to the calls that they were tried again by; one that was not is a failed call.

    `traces` are those of spans.
    """
    failed = [note for note in notes if note.name in FAILURES and note.error]
    times, repeats = _Times(notes), _Repeats(calls)
    left: dict[tuple[str, str, str, str], list[Digest]] = defaultdict(list)
    for note in sorted(failed, key=lambda note: (note.end, note.print)):
        call = repeats.of(note)
        if call is not None:
            call.failures.append(note)
        else:
            left[note.trace, note.session, note.owner, times.prompt(note)].append(note)
    for (trace, _, _, prompt), failures in left.items():
        last = failures[-1]
        span = _span(last, "model", start=last.end - last.lasted, prompt=prompt)
        span.trace = trace if trace in traces else span.trace
        calls.append(Call(span, failures=failures[:-1]))
    calls.sort(key=lambda call: (call.span.start, call.span.end, call.span.id))


def close(plans: Iterable[LoopPlan], notes: Sequence[Digest]) -> None:
    """Mark the loops after which their session had another prompt: nothing more comes of them."""
    times = _Times(notes)
    for plan in plans:
        spans = plan.all_spans()
        if plan.agent is None and spans and spans[0].is_log and not spans[0].owner:
            last = max(plan.start + 2, *(span.start for span in spans))
            plan.is_closed = (times.prompts.get(spans[0].session) or [0])[-1] >= last


def _model(note: Digest, times: _Times, names: dict[str, str]) -> Digest:
    agent = names.get(note.owner) or ("sub-agent" if note.runtime == "gemini-cli" else note.owner)
    return _span(
        note,
        "model",
        start=times.request(note) if note.runtime == "codex" else note.end - note.lasted,
        prompt=times.prompt(note),
        agent=agent if note.owner else note.runtime,
    )


def _span(note: Digest, kind: str, **changes: object) -> Digest:
    trace = note.trace if note.runtime == "claude-code" or note.name == DETAILS else ""
    return replace(note, **{"kind": kind, "trace": trace, "id": note.print, **changes})  # type: ignore[arg-type]


def _add_texts(calls: Sequence[Call], notes: Sequence[Digest]) -> None:
    """Give each call the record with its answer: the nearest to its end, of the agent that it names."""
    texts: dict[str, list[Digest]] = defaultdict(list)
    for note in sorted(notes, key=_start):
        if note.name == TEXT or note.has_text:
            texts[note.session].append(note)
    pairs = []
    for place, call in enumerate(calls):
        at, own = call.span.end, texts[call.span.session]
        first = bisect_left(own, at - _NEAR_NS, key=_start)
        middle = bisect_left(own, at, key=_start)
        last = min(bisect_right(own, at + _NEAR_NS, key=_start), middle + NEAR_MAX)
        near = own[max(first, middle - NEAR_MAX) : last]
        pairs += [
            (abs(note.start - at), place, note.print, call, note)
            for note in near
            if note.name != TEXT or note.owner == call.span.owner
        ]
    taken: set[str] = set()
    for _, _, fingerprint, call, note in sorted(pairs, key=lambda pair: pair[:3]):
        if not call.notes and fingerprint not in taken:
            call.notes.append(note)
            taken.add(fingerprint)


def _start(digest: Digest) -> int:
    return digest.start


class _Repeats:
    """Model calls by session, or without one by trace, and by time."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._place = {id(call): place for place, call in enumerate(calls)}
        together: dict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in calls:
            span = call.span
            together["session" if span.session else "bare trace", span.session or span.trace].append(call)
            together["trace", span.trace].append(call)
        self._together = {key: ByTime(found, lambda call: call.span) for key, found in together.items()}

    def of(self, failed: Digest) -> Call | None:
        """Return the first call that was tried again after a failed request, or during it."""
        if failed.session:
            keys = [("session", failed.session), ("bare trace", failed.trace)]
        else:
            keys = [("trace", failed.trace)]
        groups = (self._together[key] for key in keys if key in self._together)
        since, until = failed.end - failed.lasted, failed.end + _RETRY_NS
        first = (next(group.between(since, until), None) for group in groups)
        return min(filter(None, first), key=lambda call: self._place[id(call)], default=None)
