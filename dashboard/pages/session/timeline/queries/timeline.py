"""The Timeline tab: loops as lanes on a common time axis, and turns and tools of the selected loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from dashboard.notes.queries.counts import NoteCount, of_turns_in
from dashboard.pages.session.timeline.axis import LEAST, Axis, Span, axis
from dashboard.pages.session.timeline.bars import Bars, Colours, Painter
from dashboard.pages.session.timeline.phases import Kind, Phase
from dashboard.pages.session.timeline.queries.loop_phases import loop_phases
from dashboard.pages.session.tree.queries.outliers import NO_OUTLIERS, Outlier
from dashboard.pages.session.tree.queries.rows import LoopRow, rows
from dashboard.pages.session.tree.queries.structure import Shape, ShapeOf
from dashboard.rendering.axis_ticks import TimeTick
from dashboard.shared.queries.config_labels import Chip
from dashboard.shared.session_state import SHOWN as SESSION_STATE
from dashboard.shared.session_state import is_stale
from dashboard.shared.waste.queries import marks
from dashboard.shared.waste.queries.marks import NO_MARKS, LoopMarks, Mark
from dashboard.web import links
from recorder.models import ChildLoopRef, LoopRecord, Session

LANES = 100  # loops of the session shown at once
PARTS = 200  # turns, tools and approvals shown of the selected loop
Paints = tuple[Colours, Mapping[int, LoopMarks]]


@dataclass(frozen=True, slots=True)
class Lane:
    """One loop on the axis. Bars of a turn that another config answered have its colour."""

    row: LoopRow
    slot: int
    url: str
    bars: Sequence[Bars]
    bracket: str = ""  # among the branches and the judge of a group: first, mid or last
    is_selected: bool = False
    is_inside: bool = False  # nested below another loop
    is_elsewhere: bool = False  # a sub-agent with a session of its own


@dataclass(frozen=True, slots=True)
class Part:
    """A turn, a tool call or an approval of the selected loop."""

    kind: Kind
    name: str
    chip: Chip | None  # the config that answered a turn, if it is not that of the loop's start
    url: str
    bars: Sequence[Bars]
    length: timedelta | None  # None while it runs; up to the last event if the session is stale
    is_received: bool
    notes: NoteCount | None = None  # of a turn
    waste: Mark | None = None
    outlier: Outlier | None = None  # of a turn


@dataclass(frozen=True, slots=True)
class Scale:
    """The header of lanes: ticks with the time since the start, and idle gaps."""

    ticks: Sequence[TimeTick]
    gaps: Sequence[tuple[float, float, timedelta]]  # x, width, duration
    edges: str  # ends of the stretches for the page's script: x:seconds


@dataclass(frozen=True, slots=True)
class Zoom:
    """URLs of other parts of the axis."""

    closer: str
    wider: str
    whole: str  # "" when all is shown
    base: str
    idle: str  # with idle time unfolded, or folded
    is_folded: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """The tab; root of the panel session/timeline/timeline."""

    pk: int
    scale: Scale | None
    lanes: Sequence[Lane]
    hidden: int  # loops not shown
    own: Scale | None
    slot: int  # colour slot of its config, 0 without a config
    parts: Sequence[Part]
    more: int  # parts not shown
    timeless: int
    has_received: bool
    has_waste: bool
    has_outliers: bool
    zoom: Zoom | None


@dataclass(frozen=True, slots=True)
class Timelines:
    """The query of the panel for pages with this loop selected and this part of the axis shown."""

    loop: int
    zoom: tuple[float, float] | None = None  # seconds since the start
    folds: bool = True
    shape: ShapeOf = field(default=Shape, compare=False)

    def __call__(self, pks: Collection[int]) -> Mapping[int, Timeline]:
        sessions = (
            Session.objects.filter(pk__in=pks)
            .select_related("project")
            .only("project__slug", "created_at", *SESSION_STATE)
        )
        return {session.pk: self._of(session) for session in sessions}

    def _of(self, session: Session) -> Timeline:
        order = self.shape(session.pk).order
        at = order.index(self.loop) if self.loop in order else 0
        first = max(0, min(at - LANES // 2, len(order) - LANES))
        own_loops = order[first : first + LANES]
        called = _spawned_loops(session.pk, own_loops)
        shown = [pk for own in own_loops for pk in (own, *called.get(own, ()))][: 2 * LANES]
        drawn = loop_phases(shown)
        spans = drawn.spans
        begin = min((span.start for span in spans), default=session.created_at)
        window = None if self.zoom is None else Span(*(begin + timedelta(seconds=s) for s in self.zoom))
        line = _axis(spans, window, folds=self.folds)
        own = [phase for phase in drawn.phases if phase.loop == self.loop]
        if is_stale(session):
            own = [replace(phase, is_open=False) for phase in own]
        near = axis((phase.span for phase in own), folds=self.folds)
        colours = Colours.of({phase.config for phase in drawn.phases if phase.config})
        wasted = marks.of_loops(session.project.slug, shown)
        lanes = self._lanes(session, shown, drawn.phases, line, (colours, wasted)) if line else []
        slot = next((lane.slot for lane in lanes if lane.is_selected), 0)
        selected = next((lane.row.outliers for lane in lanes if lane.is_selected), None)
        painter = Painter(colours, slot, wasted.get(self.loop, NO_MARKS), (selected or NO_OUTLIERS).by_turn)
        parts = self._parts(session, own, near, painter) if near else []
        return Timeline(
            pk=session.pk,
            scale=_scale(line, begin) if line else None,
            lanes=lanes,
            hidden=len(order) - len(own_loops),
            own=_scale(near, begin) if near else None,
            slot=slot,
            parts=parts[:PARTS],
            more=max(0, len(parts) - PARTS),
            timeless=drawn.timeless,
            has_received=any(phase.is_received for phase in drawn.phases),
            has_waste=bool(wasted),
            has_outliers=any(lane.row.outliers for lane in lanes),
            zoom=self._zoom(session, begin, line) if line else None,
        )

    def _lanes(
        self, session: Session, shown: Sequence[int], phases: Sequence[Phase], line: Axis, paints: Paints
    ) -> list[Lane]:
        colours, wasted = paints
        by_loop: dict[int, list[Phase]] = defaultdict(list)
        for phase in phases:
            by_loop[phase.loop].append(phase)
        drawn, brackets = rows(shown), _bracket_positions(shown)
        here = set(LoopRecord.objects.filter(session=session, pk__in=shown).values_list("pk", flat=True))
        least = LEAST * max(1, len(shown) / 25)  # coarser for many lanes
        lanes = []
        for pk in shown:
            is_elsewhere = pk not in here
            url = drawn[pk].url if is_elsewhere else self._url(session, pk)
            is_inside = is_elsewhere or drawn[pk].kind in ("Sub-agent", "Branch") or pk in brackets
            slot = colours.of_row(drawn[pk])
            lanes.append(
                Lane(
                    drawn[pk],
                    slot,
                    url,
                    Painter(
                        colours, slot, wasted.get(pk, NO_MARKS), (drawn[pk].outliers or NO_OUTLIERS).by_turn
                    ).bars(by_loop[pk], line, least),
                    brackets.get(pk, ""),
                    pk == self.loop,
                    is_inside,
                    is_elsewhere,
                )
            )
        return lanes

    def _parts(self, session: Session, phases: Sequence[Phase], near: Axis, painter: Painter) -> list[Part]:
        """Return turns in order, each followed by its tools; parts without a turn come last."""
        turns: dict[int | None, list[Phase]] = defaultdict(list)
        for phase in phases:
            turns[phase.turn].append(phase)
        slug, parts, notes = session.project.slug, [], of_turns_in(self.loop)
        for ordinal in sorted(turns, key=lambda n: (n is None, n)):
            answer = [phase for phase in turns[ordinal] if phase.kind in ("wait", "model")]
            at = links.loop(slug, session.pk, self.loop, turn="" if ordinal is None else ordinal + 1)
            if answer and ordinal is not None:
                part = _part(
                    "model", f"Turn {ordinal + 1:,}", f"{at}#turn-{ordinal + 1}", answer, near, painter
                )
                parts.append(replace(part, notes=notes.get(ordinal)))
            for phase in turns[ordinal]:
                if phase.kind not in ("wait", "model"):
                    url = f"{at}#session-tool-{phase.pk}" if phase.pk else at
                    name = phase.name or NAMES[phase.kind]
                    parts.append(_part(phase.kind, name, url, [phase], near, painter))
        return parts

    def _url(self, session: Session, loop: int) -> str:
        zoom = "" if self.zoom is None else f"{self.zoom[0]:g}-{self.zoom[1]:g}"
        idle = "" if self.folds else "1"
        return links.loop(session.project.slug, session.pk, loop, tab="timeline", zoom=zoom, idle=idle)

    def _zoom(self, session: Session, begin: datetime, line: Axis) -> Zoom:
        slug, pk, idle = session.project.slug, session.pk, "" if self.folds else "1"
        start, end = ((at - begin).total_seconds() for at in (line.start, line.end))
        near = [(line.moment(x) - begin).total_seconds() for x in (25, 75)]
        wide = (max(0.0, start - (end - start) / 2), end + (end - start) / 2)

        def to(zoom: str, folds: str = idle) -> str:
            return links.loop(slug, pk, self.loop, tab="timeline", zoom=zoom, idle=folds)

        return Zoom(
            closer=to(f"{near[0]:.3f}-{near[1]:.3f}"),
            wider=to("" if self.zoom is None or start <= 0 else f"{wide[0]:.3f}-{wide[1]:.3f}"),
            whole=to("") if self.zoom else "",
            base=to("ZOOM"),
            idle=to("" if self.zoom is None else f"{start:.3f}-{end:.3f}", "1" if self.folds else ""),
            is_folded=self.folds,
        )


NAMES: Mapping[Kind, str] = {
    "approval": "Approval request",
    "compaction": "Compaction",
    "tool": "Tool",
    "failed": "Tool",
}


def _part(kind: Kind, name: str, url: str, phases: Sequence[Phase], near: Axis, painter: Painter) -> Part:
    start, end = min(phase.span.start for phase in phases), max(phase.span.end for phase in phases)
    is_open = any(phase.is_open for phase in phases)
    is_received = any(phase.is_received for phase in phases)
    chip = painter.colours.chips.get(phases[0].config or 0)
    return Part(
        kind,
        name,
        chip if chip and chip.slot != painter.slot else None,
        url,
        painter.bars(phases, near, 0),
        None if is_open else end - start,
        is_received,
        waste=next((mark for phase in phases if (mark := painter.mark_of(phase))), None),
        outlier=next((outlier for phase in phases if (outlier := painter.outlier_of(phase))), None),
    )


def _axis(spans: Sequence[Span], window: Span | None, *, folds: bool) -> Axis | None:
    """Return the axis, or the part of it within `window` if they overlap."""
    whole = axis(spans, folds=folds)
    if window is None or whole is None or window.end <= whole.start or window.start >= whole.end:
        return whole
    ends = max(window.start, whole.start), min(window.end, whole.end)
    return axis([*spans, *(Span(at, at) for at in ends)], window=Span(*ends), folds=folds)


def _scale(on: Axis, begin: datetime) -> Scale:
    edges = [
        (x, (at - begin).total_seconds())
        for stretch in on.stretches
        for x, at in ((stretch.x, stretch.start), (stretch.x + stretch.width, stretch.end))
    ]
    return Scale(
        on.ticks(begin),
        [(round(gap.x, 2), round(gap.width, 2), gap.length) for gap in on.gaps],
        " ".join(f"{x:.3f}:{seconds:.3f}" for x, seconds in edges),
    )


def _spawned_loops(session: int, loops: Collection[int]) -> dict[int, list[int]]:
    """Return the loops of other sessions spawned by each loop. Two queries."""
    spawned = LoopRecord.objects.filter(session__parent__in=loops).exclude(session=session)
    refs = ChildLoopRef.objects.filter(loop__in=loops, child__isnull=False)
    refs = refs.exclude(child__session=session)
    pairs = [
        *spawned.order_by("pk").values_list("session__parent_id", "pk"),
        *refs.order_by("pk").values_list("loop_id", "child_id"),
    ]
    children_of: dict[int, dict[int, None]] = defaultdict(dict)
    for parent, child in pairs:
        if parent is not None and child is not None:
            children_of[parent].setdefault(child)
    return {parent: list(children) for parent, children in children_of.items()}


def _bracket_positions(loops: Sequence[int]) -> dict[int, str]:
    """Return the position of loops in the bracket of their parallel group: first, mid, last. One query."""
    rows = LoopRecord.objects.filter(pk__in=loops).values_list("pk", "group_id", "judged_groups")
    group = {pk: own or judged for pk, own, judged in rows}
    positions: dict[int, str] = {}
    for n, pk in enumerate(loops):
        if group.get(pk) is None:
            continue
        is_first = n == 0 or group.get(loops[n - 1]) != group[pk]
        is_last = n + 1 == len(loops) or group.get(loops[n + 1]) != group[pk]
        positions[pk] = "" if is_first and is_last else "first" if is_first else "last" if is_last else "mid"
    return {pk: position for pk, position in positions.items() if position}
