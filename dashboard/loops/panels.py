"""The live regions of the session page. Those that show what is selected are made for it."""

from dashboard.loops.queries import (
    boxes,
    calls,
    events,
    header,
    heads,
    questions,
    rows,
    timeline,
    tree,
    troubles,
    turns,
)
from dashboard.loops.queries.shape import Shape, ShapeOf
from dashboard.panels import Panel
from dashboard.passes.queries import tab
from dashboard.replay.queries import tracks

SOON_MS = 300  # what counts and sums may lag this far behind

HEADER = Panel("session/header", header.headers, every_ms=SOON_MS)
INTEGRITY = Panel("session/integrity", troubles.troubles, every_ms=1_000)
ROW = Panel("session/loop-row", rows.rows, every_ms=SOON_MS)
BOX_COST = Panel("session/box-cost", boxes.box_costs, every_ms=1_000)
TURN, RAW_TURN = Panel("session/turn", turns.turns), Panel("session/turn", turns.raw_turns)
TAIL, RAW_TAIL = (Panel("session/tail", query, every_ms=SOON_MS) for query in (turns.tails, turns.raw_tails))
PASSES = Panel("session/passes", tab.tabs, every_ms=3_000)  # it reads whole requests
TOOL = Panel("session/tool", calls.tools)
QUESTION = Panel("session/question", questions.questions)
TRACK = Panel("session/track", tracks, every_ms=3_000)


def tree_panel(selected: int, at: int | None, shape: ShapeOf = Shape) -> Panel:
    """Return the tree in which this loop is selected, and shown what stands around it or around another."""
    return Panel("session/tree", tree.Trees(selected, at, shape), every_ms=SOON_MS)


def head_panel(tab: str, shape: ShapeOf = Shape) -> Panel:
    """Return the head of the loop pane with this tab open."""
    return Panel("session/loop-head", heads.Heads(tab, shape), every_ms=SOON_MS)


def event_panel(scope: events.Scope) -> Panel:
    """Return the rows of this list of events."""
    return Panel("session/event", scope)


def timeline_panel(shown: timeline.Timelines) -> Panel:
    """Return the timeline, or a part of it."""
    return Panel("session/timeline", shown, every_ms=3_000)
