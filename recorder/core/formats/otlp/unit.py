"""A unit: the spans that are read together, and the events that were recorded for them so far.

`new_events` compares the outline of each loop with the events recorded for it. If these are its beginning,
only the rest is returned. If they are but for its end, or for the end of its last turn, which has further
tools, the loop goes on; otherwise it is withdrawn and all its events are returned. So the records follow from
the set of spans, not from their order, and in the usual order most events are recorded once.

How `new_events` decides, for each loop that the spans so far show:

1. A transcript covers it: it is not recorded, and its lines are given to the session of the transcript.
2. It has another session than was recorded: the recorded events are withdrawn, and all are recorded there.
3. It begins with the recorded entries: the others follow.
4. It has others in place of the recorded end, or that of its last turn: it is reopened, and they follow.
5. It begins otherwise, or a loop below it is recorded again: it is withdrawn, and all follow.
6. It was recorded, and the spans show it no more: it is withdrawn and gone.

For example the first body has a model call of a trace: a loop with one turn that has ended. The second has a
tool that the call asked for: by rule 4 the turn goes on, and ends again after the tool. The third has the
span of the agent, which names another session: by rule 2 the loop moves there.

Cost: linear in the spans of the unit, of which at most SPANS_MAX are planned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple, cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.entry_prints import Prints, prints_of
from recorder.core.formats.otlp.events import ReadLine, event_of
from recorder.core.formats.otlp.groups import connected
from recorder.core.formats.otlp.outline import Entry, Notes, outline, runtime_of
from recorder.core.formats.otlp.plan.loops import LoopPlan
from recorder.core.formats.otlp.plan.tree import loops_of
from recorder.core.formats.otlp.recorded_loops import (
    RecordedLoop,
    Reopened,
    link_of,
    links_of,
    recorded_loop,
    reopened_of,
    withdrawal,
)
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.core.records import Json

SPANS_MAX = 20_000  # spans of a unit that are planned; further ones are kept as lines


# Returns whether a transcript covers the time of a tree of loops, by runtime, session and start.
Covers = Callable[[str, str, int], bool]


def _nothing(_runtime: str, _session: str, _start: int) -> bool:
    return False


class Place(NamedTuple):
    """What an evaluation is about: a session, a loop of it or, from 0 on, a turn."""

    session: str
    loop: str = ""
    turn: int | None = None


class Unit:
    """The digests of a unit by key, and what was recorded for its loops."""

    def __init__(self, state: Json = None) -> None:
        stored: Fields = state if isinstance(state, dict) else {}
        self.digests: dict[str, Digest] = {}
        for each in cast("list[Fields]", stored.get("spans") or []):
            digest = Digest.load(each)
            self.digests[digest.key] = digest
        self.recorded = {
            key: RecordedLoop(**cast("dict[str, object]", each))  # type: ignore[arg-type]
            for key, each in cast("dict[str, Fields]", stored.get("recorded") or {}).items()
        }
        # Sessions of the loops that a transcript covers, by loop.
        self.covered = cast("dict[str, str]", stored.get("covered") or {})
        self.is_silent = bool(stored.get("silent"))
        # Places of the evaluations, by key and number of their line.
        self._placed = {
            key: Place(*each) for key, each in cast("dict[str, Place]", stored.get("placed") or {}).items()
        }
        self._loops: dict[str, str] = {}  # by key of a span: the loop that it belongs to
        self._turns: dict[str, int] = {}  # by key of a span of a model call: the index of its turn

    @property
    def state(self) -> Json:
        """Return the unit as JSON. Its names never change."""
        recorded = {key: cast("Json", asdict(each)) for key, each in self.recorded.items()}
        spans: list[Json] = [digest.dump() for digest in self.digests.values()]
        state: Fields = {"spans": spans, "recorded": cast("Json", recorded)}
        if self.covered:
            state["covered"] = cast("Json", self.covered)
        if self._placed:
            state["placed"] = cast("Json", self._placed)
        return state | ({"silent": True} if self.is_silent else {})

    @property
    def session(self) -> str | None:
        """Return the session of its loops, if it has any."""
        sessions = [each.session for each in self.recorded.values()]
        return next(iter([*sessions, *self.covered.values()]), None)

    @property
    def trees(self) -> set[tuple[str, str, int]]:
        """Return runtime, session and start of the trees of loops that are recorded."""
        return {(each.runtime, each.session, each.start) for each in self.recorded.values()}

    @property
    def is_open(self) -> bool:
        """Return whether a loop has not ended."""
        return any(not each.ended for each in self.recorded.values())

    def add(self, digest: Digest) -> None:
        """Add a span or log record, or the newer state of one. A unit that was silent is so no longer.

        Of two states of a span the one that ends later counts, or has more, in whichever order they come.
        """
        key = digest.key
        before = self.digests.get(key)
        if digest.kind != "noise" and (len(self.digests) < SPANS_MAX or before is not None):
            is_older = before is not None and before.progress > digest.progress
            self.digests[key] = before if before is not None and is_older else digest
            self.is_silent = False

    def recorded_state(self, digest: Digest) -> Digest | None:
        """Return the state of a span that counts so far."""
        return self.digests.get(digest.key)

    def absorb(self, other: Unit) -> None:
        """Take over the spans of another unit, and the events recorded for them."""
        self.digests |= other.digests
        for key, recorded in other.recorded.items():
            self.recorded.setdefault(key, recorded)
        self.covered = other.covered | self.covered
        self._placed = other._placed | self._placed

    def loop_of(self, digest: Digest) -> str | None:
        """Return the loop of a span, after `new_events`; a frame belongs to the main loop of its trace."""
        loop = self._loops.get(digest.key, digest.trace)
        return loop if loop in self.recorded else None

    def newly_placed(self) -> Iterator[tuple[Digest, Place, int]]:
        """Yield, after `new_events`, lines with evaluations of a new place, and how many had one; note it."""
        for digest in self.digests.values():
            place = self._place(digest) if digest.evaluations else None
            keys = [f"{digest.key} {number + 1}" for number in range(digest.evaluations)]
            if place is not None and place != self._placed.get(keys[-1]):  # a later state may have more
                known = max((n for n, key in enumerate(keys, 1) if key in self._placed), default=0)
                self._placed[keys[-1]] = place
                yield digest, place, known

    def _place(self, digest: Digest) -> Place | None:
        """Return what a line is about; None if it has no session yet."""
        span = f"{digest.trace} {digest.id}"
        if (loop := self._loops.get(span)) is not None:
            return Place(self.recorded[loop].session, loop, self._turns.get(span))
        # A record of another program may name the session alone, which has no spans in this unit.
        session = self.session or ("" if digest.trace else digest.session)
        return Place(session) if session else None

    def new_events(self, read: ReadLine, covers: Covers = _nothing) -> list[Fields]:
        """Return the events that make the records those of all spans so far."""
        all_plans = loops_of(list(self.digests.values()))
        sessions = self._sessions(all_plans)
        roots = _roots(all_plans)
        covered = {plan.key: plan for plan in all_plans if _is_covered(roots[plan.key], sessions, covers)}
        plans = [plan for plan in all_plans if plan.key not in covered]
        notes = Notes(each for each in self.digests.values() if each.is_log)
        outlines = {
            plan.key: list(outline(plan, sessions[plan.key], notes, is_silent=self.is_silent))
            for plan in plans
        }
        moved = {
            key: recorded
            for key, recorded in self.recorded.items()
            if key in outlines and recorded.session != sessions[key]
        }
        for key in moved:
            del self.recorded[key]
        prints = {key: self._prints_of(key, entries) for key, entries in outlines.items()}
        reopened = self._reopened(plans, outlines, prints)
        outdated = self._outdated([plan for plan in plans if plan.key not in reopened], prints)
        events: list[Fields] = []
        for key in sorted(reopened.keys() - set(outdated)):
            self.recorded[key].number = reopened[key].number
            events.append({**reopened[key].event, "loop_id": key, "session_id": self.recorded[key].session})
        events += [withdrawal(key, self.recorded.pop(key)) for key in outdated]
        for plan in plans:
            entries, root = outlines[plan.key], roots[plan.key]
            events += self._continued(plan.key, entries, read)
            found = prints[plan.key], sessions[plan.key], root, self.recorded.get(plan.key)
            self.recorded[plan.key] = recorded_loop(plan, entries, *found)
        events += self._links(plans, sessions)
        self._note_spans(plans)
        gone = moved | {key: self.recorded.pop(key) for key in self.recorded.keys() - outlines.keys()}
        main = sessions[all_plans[0].key] if all_plans else "otlp"
        for key in sorted(gone):
            moved_to = sessions.get(key, main)
            events.append(withdrawal(key, gone[key]) | {"is_gone": True, "moved_to": moved_to})
        return events + self._cover(list(covered.values()), sessions)

    def _note_spans(self, plans: Sequence[LoopPlan]) -> None:
        self._loops = {span.key: plan.key for plan in plans for span in _spans_of(plan)}
        self._turns = {span.key: at for plan in plans for span, at in plan.spans_of_turns()}

    def _continued(self, loop: str, entries: Sequence[Entry], read: ReadLine) -> Iterator[Fields]:
        """Yield the events of a loop behind those that are recorded."""
        recorded = self.recorded.get(loop)
        for entry in entries[recorded.number if recorded is not None else 0 :]:
            yield from event_of(entry, loop, read)

    def _cover(self, plans: Sequence[LoopPlan], sessions: Mapping[str, str]) -> list[Fields]:
        """Leave loops to the transcript; return the events by which its session adopts lines that wait."""
        before, self.covered = self.covered, {plan.key: sessions[plan.key] for plan in plans}
        return [
            {
                "type": "LoopWithdrawn",
                "loop_id": plan.key,
                "session_id": sessions[plan.key],
                "is_gone": True,
                "moved_to": sessions[plan.key],
                "adopts": f"spans-{plan.trace}",
            }
            for plan in plans
            if before.get(plan.key) != sessions[plan.key]
        ]

    def _prints_of(self, loop: str, entries: Sequence[Entry]) -> Prints:
        recorded = self.recorded.get(loop)
        return prints_of(entries, *((recorded.number, recorded.tail) if recorded is not None else (0,)))

    def _reopened(
        self, plans: Iterable[LoopPlan], outlines: Mapping[str, Sequence[Entry]], prints: Mapping[str, Prints]
    ) -> dict[str, Reopened]:
        """Return the loops that have other entries in place of their recorded end, and no other changes."""
        links = links_of(plans)
        found: dict[str, Reopened] = {}
        for key, recorded in self.recorded.items():
            if key in outlines and recorded.print != prints[key].begun:
                reopened = reopened_of(recorded, prints[key], outlines[key], links.get(key, ()))
                if reopened is not None:
                    found[key] = reopened
        return found

    def _outdated(self, plans: Sequence[LoopPlan], prints: Mapping[str, Prints]) -> list[str]:
        """Return the loops to record again: those that begin otherwise now, and the loops above them."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        for plan in plans:
            recorded = self.recorded.get(plan.key)
            if recorded is None or prints[plan.key].begun == recorded.print:
                continue
            above: LoopPlan | None = plan
            while above is not None and above.key not in seen:  # a link belongs to the loop above
                seen.add(above.key)
                if above.key in self.recorded:
                    found[above.key] = None
                above = above.parent
        return list(found)

    def _sessions(self, plans: Sequence[LoopPlan]) -> dict[str, str]:
        """Return the id of each loop's session. Loops that share a trace or a tree share a session."""
        found: dict[str, str] = {}
        of_trace: dict[str, list[str]] = defaultdict(list)
        for key, digest in self.digests.items():
            if digest.session:
                of_trace[digest.trace].append(key)
        for together in connected(plans, _traces_of):
            session = self._session(together, of_trace)
            found.update(dict.fromkeys((plan.key for plan in together), session))
        return found

    def _session(self, plans: Sequence[LoopPlan], of_trace: Mapping[str, list[str]]) -> str:
        """Return the session of loops: that of the outermost span that names one, else the first trace.

        `of_trace` has the keys of the spans that name a session.
        """
        own = [span for plan in plans for span in _spans_of(plan)]
        keys = dict.fromkeys(span.key for span in own)
        for trace in dict.fromkeys(span.trace for span in own if span.trace):
            keys |= dict.fromkeys(of_trace.get(trace, ()))
        known = (self.digests[key] for key in keys if key in self.digests)
        spans = sorted(
            (digest for digest in known if digest.session),
            key=lambda d: (d.is_log, d.start, d.id, d.print),
        )
        roots = [span.session for span in spans if not span.parent and not span.is_log]
        candidates = [*roots, *(span.session for span in spans)]
        home = next((plans[0].trace or span.home for span in own), "otlp")
        return next((each for each in candidates if is_id(each)), home)

    def _links(self, plans: Iterable[LoopPlan], sessions: Mapping[str, str]) -> list[Fields]:
        """Return the links from tool calls to the loops that they started, without those recorded."""
        events: list[Fields] = []
        known: dict[str, set[str]] = {}
        for plan in plans:
            if plan.parent is None:
                continue
            links = self.recorded[plan.parent.key].links
            marks = known.setdefault(plan.parent.key, set(links))
            mark = link_of(plan)
            if mark in marks:
                continue
            links.append(mark)
            marks.add(mark)
            events.append(
                {
                    "type": "SubAgentLinked",
                    "parent_session_id": sessions[plan.parent.key],
                    "parent_loop_id": plan.parent.key,
                    "tool_call_id": plan.via.call if plan.via is not None else None,
                    "tool_name": plan.via.name if plan.via is not None else None,
                    "child_session_id": sessions[plan.key],
                    "child_loop_id": plan.key,
                    "certainty": "structural",
                }
            )
        return events


def _roots(plans: Iterable[LoopPlan]) -> dict[str, LoopPlan]:
    """Return by key the outermost loop above each of some loops, which are given parents first."""
    roots: dict[str, LoopPlan] = {}
    for plan in plans:
        roots[plan.key] = plan if plan.parent is None else roots.get(plan.parent.key, plan.parent)
    return roots


def _is_covered(root: LoopPlan, sessions: Mapping[str, str], covers: Covers) -> bool:
    return covers(runtime_of(root), sessions[root.key], root.start)


def _spans_of(plan: LoopPlan) -> Iterable[Digest]:
    for call in plan.calls:
        yield from call.sources
    yield from plan.spans
    if plan.agent is not None:
        yield plan.agent


def _traces_of(plan: LoopPlan) -> Iterable[str]:
    return (span.trace for span in _spans_of(plan) if span.trace)
