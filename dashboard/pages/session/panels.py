"""The panels of the session page. Panels that depend on the selection are created per page."""

from dashboard.compaction_analysis.queries import tab
from dashboard.live.panel import CachedQuery, Panel
from dashboard.notes.queries import entries as notes
from dashboard.pages.session.context.panel_view import Contexts
from dashboard.pages.session.conversation.queries import approvals, calls, loop_end, turns
from dashboard.pages.session.events.queries import event_list
from dashboard.pages.session.header.queries import integrity, loop, loop_address, session
from dashboard.pages.session.replay.queries import track_source
from dashboard.pages.session.timeline.queries import timeline
from dashboard.pages.session.tree.queries import group_costs, rows, tree
from dashboard.pages.session.tree.queries.structure import Shape, ShapeOf

SOON_MS = 300  # counts and sums may lag by this much

HEADER = Panel("session/header/header", session.headers, min_interval_ms=SOON_MS)
REPLACED = Panel("session/header/replaced", loop_address.addresses)  # sends a page of what is no more on
INTEGRITY = Panel("session/header/integrity", integrity.integrity_strips, min_interval_ms=1_000)
ROW = Panel("session/tree/loop-row", rows.rows, min_interval_ms=SOON_MS)
GROUP_COST = Panel("session/tree/group-cost", group_costs.costs_of_groups, min_interval_ms=1_000)
TURN, RAW_TURN = (
    Panel("session/conversation/turn", CachedQuery(kind, turns.sources, views))
    for kind, views in (("turn", turns.views), ("raw-turn", turns.raw_views))
)
TAIL, RAW_TAIL = (
    Panel("session/conversation/loop-end", query, min_interval_ms=SOON_MS)
    for query in (loop_end.tails, loop_end.raw_tails)
)
COMPACTIONS = Panel(
    "session/compactions/compactions", tab.tabs, min_interval_ms=3_000
)  # the query reads whole requests
TOOL = Panel("session/conversation/tool", calls.tools)
QUESTION = Panel("session/conversation/question", approvals.questions)
TRACK = Panel(
    "session/replay/track",
    CachedQuery("track", track_source.sources, track_source.tracks),
    min_interval_ms=3_000,
)

NOTE_COUNT = Panel("session/notes/count", notes.totals)


def rail_panel(shown: str, loop: int) -> Panel:
    """Return the panel of the rail with these entries: all, notes, scores or bookmarks."""
    return Panel("session/notes/rail", notes.RailOf(shown, loop))


def tree_panel(selected: int, at: int | None, shape: ShapeOf = Shape) -> Panel:
    """Return the panel of the tree with this loop selected, windowed around it or around loop `at`."""
    return Panel("session/tree/tree", tree.Trees(selected, at, shape), min_interval_ms=SOON_MS)


def head_panel(tab: str, shape: ShapeOf = Shape) -> Panel:
    """Return the panel of the loop header with this tab selected."""
    return Panel("session/header/loop-head", loop.Heads(tab, shape), min_interval_ms=SOON_MS, is_needed=True)


def context_panel(shown: Contexts) -> Panel:
    """Return the panel of the tab Context; its query reads the calls and blocks of a session."""
    return Panel("session/context/context", shown, min_interval_ms=2_000)


def event_panel(scope: event_list.Scope) -> Panel:
    """Return the panel of the rows of a list of events."""
    return Panel("session/events/event", scope)


def timeline_panel(shown: timeline.Timelines) -> Panel:
    """Return the panel of the timeline, or of a part of it."""
    return Panel("session/timeline/timeline", shown, min_interval_ms=3_000)
