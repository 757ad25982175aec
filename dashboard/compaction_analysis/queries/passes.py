"""Passes in the course of a context: the calls before and after, what they saved and what they cost."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left, Length

from dashboard.compaction_analysis.claim_check import Claim
from dashboard.compaction_analysis.context_chain import Course, Loop
from dashboard.compaction_analysis.payback import Call, Payback, payback
from dashboard.compaction_analysis.queries.context_chain import calls_of, courses
from dashboard.web import links
from recorder.models import Compaction

FAR = 200  # loops on either side of a pass that are looked at
GLANCE = 600  # characters of a summary that stand on a card

_SHOWN = (
    *(
        "state",
        "messages_before",
        "messages_after",
        "tokens_before",
        "tokens_after",
        "loops_compacted",
        "content",
    ),
    *("started_at", "ended_at", "start_event", "end_event", "turn__ordinal", "turn__turn_index"),
    *(
        "loop__session__session_id",
        "loop__session__title",
        "loop__session__source",
        "loop__session__project__slug",
    ),
    *("loop__role", "loop__loop_id"),
)


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass; root of the panel session/pass."""

    row: Compaction
    claim: Claim
    loop: Loop  # that it stands in
    base: Loop  # whose context it shortened
    next: Loop | None  # that goes on from it
    line: Sequence[int]  # loops, oldest first
    calls: Sequence[Call]  # of all of them
    before: Call | None  # the last call before whose request is recorded, else the last
    first: Call | None  # after it, in the same way
    after: Sequence[Call]  # up to the next pass
    position: int  # in recorded order
    drops: Sequence[int]  # where all passes on the line stand
    numbers: Mapping[int, int]  # of the session's loops
    merged: int | None  # the record of an imported block of this pass
    payback: Payback

    @property
    def pk(self) -> int:
        return self.row.pk

    @property
    def slug(self) -> str:
        return self.row.loop.session.project.slug

    @property
    def url(self) -> str:
        return links.compaction(self.slug, self.base.session_id, self.pk)

    @property
    def loop_url(self) -> str:
        return links.loop(self.slug, self.loop.session_id, self.loop.id)

    @property
    def is_alone(self) -> bool:
        """Say whether it is a loop of its own."""
        return self.loop.role == "compaction"

    @property
    def number(self) -> int:
        """Return the place of its loop in the tree of the session."""
        return self.numbers[self.base.id]

    @property
    def until(self) -> int | None:
        """Return where the next pass stands."""
        return next((place for place in self.drops if place > self.position), None)

    @property
    def place(self) -> str:
        """Say where it happened."""
        if not self.is_alone:
            turn = self.row.turn
            return f"in loop {self.number}" + (f", turn {turn.ordinal + 1}" if turn else "")
        return f"before loop {self.numbers[self.next.id]}" if self.next else f"after loop {self.number}"

    @property
    def content(self) -> str:
        """Return what is known of its content, in the words of the API: none, block, request, summary."""
        if self.row.content != "none":
            return self.row.content
        return "block" if self.merged else "none"

    @property
    def sent_before(self) -> int | None:
        """Return how large the last request before was, as its provider counted."""
        return self.before.prompt if self.before else None

    @property
    def sent_after(self) -> int | None:
        return self.first.prompt if self.first else None

    @property
    def has_request_before(self) -> bool:
        return self.before is not None and self.before.request is not None

    @property
    def summary(self) -> str:
        """Return how its text begins."""
        return str(getattr(self.row, "glance", ""))

    @property
    def summary_size(self) -> int:
        return int(getattr(self.row, "summary_length", 0) or 0)


def listed(project: int | None = None) -> QuerySet[Compaction]:
    """Return the passes of a project: an imported block that tells of a recorded pass is a part of that."""
    rows = (
        Compaction.objects.all()
        if project is None
        else Compaction.objects.filter(loop__session__project=project)
    )
    told = _during(OuterRef("loop__session"), OuterRef("loop__loop_id"), OuterRef("ended_at"))
    return rows.exclude(Q(start_event__isnull=True, content="block") & Exists(told))


def recorded(block: Compaction) -> int:
    """Return the recorded pass that an imported block tells of; itself if there is none."""
    told = _during(block.loop.session_id, block.loop.loop_id, block.ended_at)
    return told.order_by("pk").values_list("pk", flat=True).first() or block.pk


def _during(session: Any, loop_id: Any, at: Any) -> QuerySet[Compaction]:
    """Return the recorded passes of a loop id that were running at a time."""
    ran = Compaction.objects.filter(loop__session=session, loop__loop_id=loop_id, start_event__isnull=False)
    return ran.filter(started_at__lte=at, ended_at__gte=at)


def shown(rows: QuerySet[Compaction]) -> QuerySet[Compaction]:
    """Return passes with what pages show of them; their texts can be megabytes."""
    related = rows.select_related("loop__session__project", "turn").only(*_SHOWN)
    return related.annotate(glance=Left("summary", GLANCE), summary_length=Length("summary"))


def passes(rows: Iterable[Compaction]) -> list[Pass]:
    """Return passes in the order of `rows`. Five queries."""
    rows = list(rows)
    found = _Around(courses({row.loop.session_id for row in rows}), rows)
    return [found.told(row) for row in rows]


class _Around:
    """What stands around several passes, read at once."""

    def __init__(self, course: Mapping[int, Course], rows: Sequence[Compaction]) -> None:
        self._courses = course
        self._numbers = {session: each.numbers for session, each in course.items()}
        self._lines = {row.pk: course[row.loop.session_id].line(row.loop_id, FAR) for row in rows}
        self._calls = calls_of({loop for line in self._lines.values() for loop in line})
        self._places = _places(course)
        self._merged = _merged(rows)

    def told(self, row: Compaction) -> Pass:
        course, numbers = self._courses[row.loop.session_id], self._numbers[row.loop.session_id]
        line, position = self._lines[row.pk], _position(row)
        loop, base = course.loops[row.loop_id], course.base(row.loop_id)
        on_line, nth = set(line), line.index(base)
        places = ((course.base(each), place) for each, place in self._places[row.loop.session_id])
        drops = sorted(place for each, place in places if each in on_line)
        until = next((place for place in drops if place > position), None)
        following = course.loops[line[nth + 1]] if nth + 1 < len(line) else None
        calls = sorted((call for each in line for call in self._calls[each]), key=lambda call: call.event)
        events = [call.event for call in calls]
        earlier = bisect_left(events, position)
        before = _asked(calls[earlier - 1 :: -1] if earlier else ())
        after = calls[earlier : bisect_left(events, until) if until else None]
        return Pass(
            row=row,
            claim=Claim(
                row.messages_before,
                row.messages_after,
                row.tokens_before,
                row.tokens_after,
                row.loops_compacted,
            ),
            loop=loop,
            base=course.loops[base],
            next=following,
            line=line,
            calls=calls,
            before=before,
            first=_asked(after),
            after=after,
            position=position,
            drops=drops,
            numbers=numbers,
            merged=self._merged.get(row.pk),
            payback=payback(calls[:earlier], after, _own_cost(loop)),
        )


def _asked(calls: Sequence[Call]) -> Call | None:
    return next((call for call in calls if call.request), calls[0] if calls else None)


def _position(row: Compaction) -> int:
    return row.end_event or row.start_event or 0


def _own_cost(loop: Loop) -> int | None:
    """Return what a pass cost that is a loop of its own: inside another no call is recorded for it."""
    if loop.role != "compaction":
        return 0
    return None if loop.unpriced else loop.cost_nano or 0


def _places(sessions: Collection[int]) -> Mapping[int, Sequence[tuple[int, int]]]:
    """Return where the passes of each session stand: loop and position."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = listed().filter(loop__session__in=sessions)
    for session, loop, start, end in rows.values_list(
        "loop__session_id", "loop_id", "start_event", "end_event"
    ):
        found[session].append((loop, end or start or 0))
    return found


def _merged(rows: Sequence[Compaction]) -> Mapping[int, int]:
    """Return the imported block that tells of each pass."""
    blocks = Compaction.objects.filter(
        content="block",
        start_event__isnull=True,
        loop__session=OuterRef("loop__session"),
        loop__loop_id=OuterRef("loop__loop_id"),
        ended_at__gte=OuterRef("started_at"),
        ended_at__lte=OuterRef("ended_at"),
    )
    told = Compaction.objects.filter(pk__in=[row.pk for row in rows], start_event__isnull=False)
    found = told.annotate(told_by=Subquery(blocks.order_by("pk").values("pk")[:1]))
    return {pk: block for pk, block in found.values_list("pk", "told_by") if block}
