"""Excludes the bodies of folded calls from the queries of a turn; reads one group or passage on demand.

The groups come from `fold_calls`. Invariant: a turn's page reads no body of a hidden call, and a group reads
only the bodies of its own calls and of the lines between them. Cost: one pass over the call records of a turn
(without bodies) per page. A passage reads all lines of its turn, because messages must be counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dashboard.live.queries import streaming_text
from dashboard.pages.session.conversation import fold_calls
from dashboard.pages.session.conversation.fold_calls import Stretch
from dashboard.pages.session.conversation.items import Group, Groups, Item
from dashboard.pages.session.conversation.queries import approvals, calls, lines
from dashboard.pages.session.conversation.queries.calls import PlacedCall
from dashboard.pages.session.conversation.turn import Folded, Reading
from dashboard.shared.compiled_query import Value, in_list, list_param
from dashboard.web import links
from recorder.models import Turn

TurnKey = tuple[str, int, int, int]  # project slug, session, loop and ordinal of a turn


@dataclass(frozen=True, slots=True)
class Fold:
    """The part of a turn that its page leaves out: events from `since` up to `folded.until`."""

    turn: int
    folded: Folded
    since: int
    events: frozenset[int]  # of the hidden calls, also outside that range


def folds(called: Collection[PlacedCall], turn_keys: Mapping[int, TurnKey]) -> Mapping[int, Fold]:
    """Return the folded part of each turn that has enough calls, by turn."""
    fold_of = {}
    for turn, turn_key in turn_keys.items():
        own = [placed for placed in called if placed.turn == turn]
        groups = fold_calls.groups_of(len(own))
        if groups:
            fold_of[turn] = _fold(turn, turn_key, own, groups)
    return fold_of


def outside(all_folds: Collection[Fold]) -> tuple[str, Sequence[Value]]:
    """Return an SQL condition that excludes the folded events of table `e`, and its values."""
    if not all_folds:
        return "", ()
    events = list_param({pk for fold in all_folds for pk in fold.events})
    ranges = [value for fold in all_folds for value in (fold.turn, fold.since, fold.folded.until)]
    inside = " AND NOT (e.turn_id = %s AND e.id >= %s AND e.id < %s)" * len(all_folds)
    return f"{inside} AND NOT {in_list('e.id')}", (*ranges, events)


def group_content(session: int, loop: int, ordinal: int, stretch: Stretch) -> Sequence[Item]:
    """Return the content of a group: calls and the items between them, or smaller groups.

    Ten queries at most.

    Raises LookupError if there is no such group.
    """
    turn = Turn.objects.filter(loop=loop, loop__session=session, ordinal=ordinal).first()
    own = calls.calls("c.turn_id = %s", turn.pk) if turn else ()
    if turn is None or not fold_calls.is_group_of(stretch, len(own)):
        raise LookupError(ordinal)
    if not stretch.is_small:
        turn_key = own[0].slug, session, loop, ordinal
        groups = _groups(turn_key, own, fold_calls.small_groups(stretch))
        return [Groups(groups, 0, len(own))]
    return _read(session, turn, own, stretch)


def _read(session: int, turn: Turn, own: Sequence[PlacedCall], stretch: Stretch) -> Sequence[Item]:
    chosen, rest = own[stretch.first : stretch.end], [*own[: stretch.first], *own[stretch.end :]]
    since, until = _begin(chosen), _begin(own[stretch.end :])
    where = f"e.turn_id = %s AND e.id >= %s AND e.id < %s AND NOT {in_list('e.id')}"
    values = (turn.pk, since, until, list_param(calls.events(rest)))
    recorded = lines.read(
        f"({where}) OR {in_list('e.id')}",
        *values,
        list_param(calls.events(chosen)),
    )
    blocks = streaming_text.of_turns([turn.pk]).get(turn.pk, {})
    return Reading(
        own[0].slug,
        [line.body for line in recorded],
        [placed.call for placed in own],
        {message: texts for message, texts in blocks.items() if since <= message < until},
        is_open=turn.state == "open",
        questions=approvals.questions_in(recorded),
        is_group=True,
        address=partial(links.turn_passage, own[0].slug, session, turn.loop_id, turn.ordinal),
    ).items()


def passage_content(session: int, loop: int, ordinal: int, first: int, last: int) -> Sequence[Item]:
    """Return the content of a passage inside a turn or directly before it. Eleven queries at most.

    Raises LookupError if there is no such passage.
    """
    of_loop = Turn.objects.filter(loop=loop, loop__session=session, ordinal=ordinal)
    turn = of_loop.select_related("loop__session__project").first()
    if turn is None:
        raise LookupError(ordinal)
    slug = turn.loop.session.project.slug
    address = partial(links.turn_passage, slug, session, loop, ordinal)
    begin = min(turn.start_event or first, first)
    recorded = lines.read("e.loop_id = %s AND e.id >= %s AND e.turn_id = %s", loop, begin, turn.pk)
    own = calls.calls("c.turn_id = %s", turn.pk)
    if all(line.body.id != first for line in recorded):
        between = "e.loop_id = %s AND e.id >= %s AND e.id <= %s AND e.turn_id IS NULL"
        recorded = lines.read(between, loop, first, last)
        own = calls.calls(calls.outside_turns(), list_param([loop]))
    return Reading(
        slug,
        [line.body for line in recorded],
        [placed.call for placed in own],
        streaming_text.of_turns([turn.pk]).get(turn.pk, {}),
        is_open=turn.state == "open",
        questions=approvals.questions_in(recorded),
        address=address,
    ).passage(first, last)


def _fold(turn: int, turn_key: TurnKey, own: Sequence[PlacedCall], groups: Sequence[Stretch]) -> Fold:
    hidden, shown = own[: groups[-1].end], own[groups[-1].end :]
    named = Groups(_groups(turn_key, own, groups), len(shown), len(own))
    events = frozenset(calls.events(hidden) - calls.events(shown))
    return Fold(turn, Folded(named, _begin(shown)), _begin(hidden), events)


def dom_id(loop: int, ordinal: int, stretch: Stretch) -> str:
    """Return the DOM id of a group."""
    return f"calls-{loop}-{ordinal}-{stretch.first}-{stretch.end}"


def _groups(turn_key: TurnKey, own: Sequence[PlacedCall], stretches: Sequence[Stretch]) -> tuple[Group, ...]:
    *_, loop, ordinal = turn_key
    states = [placed.call.tool.state for placed in own]
    return tuple(
        Group(
            first=stretch.first + 1,
            last=stretch.end,
            failed=states[stretch.first : stretch.end].count("failed"),
            running=states[stretch.first : stretch.end].count("running"),
            dom_id=dom_id(loop, ordinal, stretch),
            url=links.turn_calls(*turn_key, first=stretch.first, end=stretch.end),
        )
        for stretch in stretches
    )


def _begin(called: Sequence[PlacedCall]) -> int:
    """Return the first event of the first call, 0 without calls."""
    return min((pk for placed in called[:1] for pk in placed.call.events), default=0)
