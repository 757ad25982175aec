"""Bars of the timeline: one SVG path for each kind of span and colour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dashboard.pages.session.timeline.axis import Axis, Span, path
from dashboard.pages.session.timeline.phases import Kind, Phase
from dashboard.pages.session.tree.queries.outliers import Outlier
from dashboard.pages.session.tree.queries.rows import LoopRow
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.series_colours import chart_chips, series_class
from dashboard.shared.waste.queries.marks import NO_MARKS, LoopMarks, Mark

CSS: Mapping[Kind, str] = {
    "wait": "span-wait",
    "model": "span-model",
    "tool": "span-tool",
    "failed": "span-failed",
    "approval": "span-approval",
    "compaction": "span-compaction",
}
SHAPE: Mapping[Kind, tuple[float, float]] = {  # y and height of a bar in its lane
    "wait": (5, 10),
    "model": (5, 10),
    "tool": (9, 2),
    "failed": (8, 4),
    "approval": (5, 10),
    "compaction": (2, 16),
}


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars of one kind as one SVG path."""

    css: str
    path: str


@dataclass(frozen=True, slots=True)
class Colours:
    """Colour slots of the configs of this chart: no two are the same. A config without one has slot 0."""

    chips: Mapping[int, Chip]

    @classmethod
    def of(cls, configs: Collection[int]) -> Colours:
        """Return the colours of these configs. One query."""
        return cls(chart_chips(chips(configs)))

    def of_row(self, row: LoopRow) -> int:
        """Return the colour of the config with which a loop started."""
        if row.chip is None:
            return 0
        return next((chip.slot for chip in self.chips.values() if chip.key == row.chip.key), row.chip.slot)

    def of_phase(self, phase: Phase, of_loop: int) -> int:
        """Return the colour of a phase: that of its loop, unless another config answered the turn."""
        chip = self.chips.get(phase.config or 0)
        return chip.slot if chip else of_loop


WASTE_CSS, WASTE_SHAPE = "span-waste", (17.0, 3.0)  # a mark below the bar of what is waste
OUTLIER_CSS, OUTLIER_SHAPE = "span-outlier", (0.0, 3.0)  # a mark above the bar of an outlier


@dataclass(frozen=True, slots=True)
class Painter:
    """Draws the phases of a loop, whose lane has the colour `slot`, with marks of waste and outliers."""

    colours: Colours
    slot: int
    wasted: LoopMarks = NO_MARKS
    outliers: Mapping[int, Outlier] = field(default_factory=dict)  # by the ordinal of their turn

    def bars(self, phases: Sequence[Phase], on: Axis, least: float) -> list[Bars]:
        """Return one path for each kind and colour."""
        spans: dict[Kind, dict[int, list[Span]]] = defaultdict(lambda: defaultdict(list))
        for phase in phases:
            spans[phase.kind][self.colours.of_phase(phase, self.slot)].append(phase.span)
        drawn = (
            Bars(
                CSS[kind] if slot == self.slot else f"{CSS[kind]} {series_class(slot)}",
                path(same, on, y=SHAPE[kind][0], height=SHAPE[kind][1], least=least),
            )
            for kind in CSS
            for slot, same in spans[kind].items()
        )
        wasted = [phase.span for phase in phases if self.mark_of(phase)]
        far_above = [phase.span for phase in phases if self.outlier_of(phase)]
        marks = (
            Bars(css, path(marked, on, y=y, height=height, least=least))
            for css, (y, height), marked in (
                (WASTE_CSS, WASTE_SHAPE, wasted),
                (OUTLIER_CSS, OUTLIER_SHAPE, far_above),
            )
        )
        return [bars for bars in (*drawn, *marks) if bars.path]

    def mark_of(self, phase: Phase) -> Mark | None:
        """Return the mark of a tool call, or of the turn that a phase is the answer of."""
        if phase.pk:
            return self.wasted.tools.get(phase.pk)
        return self.wasted.turns.get(phase.turn or 0) if is_answer(phase) else None

    def outlier_of(self, phase: Phase) -> Outlier | None:
        """Return the outlier that a phase is the answer of."""
        return self.outliers.get(phase.turn or 0) if is_answer(phase) else None


def is_answer(phase: Phase) -> bool:
    """Return whether a phase is the answer of a turn."""
    return phase.kind == "model" and phase.turn is not None
