"""The content of the panel of the flame graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from dashboard.pages.flame.build import tree
from dashboard.pages.flame.figure import NAMES, Figure, figure, wide_turns
from dashboard.pages.flame.params import MEASURES, FlameParams
from dashboard.pages.flame.queries.blocks import parts_of_turns
from dashboard.pages.flame.queries.sessions import Moment, contexts, moment_of, records, sessions
from dashboard.pages.flame.records import LEVELS, TURNS_MAX, Records
from dashboard.pages.flame.tree import Node, Place, identified, merged
from dashboard.web import links
from recorder.models import Session

WITH_BLOCKS = 1.0  # percent of the width from which a turn is divided into its blocks


@dataclass(frozen=True, slots=True)
class FlameView:
    """Root of the panel flame/graph."""

    params: FlameParams
    figure: Figure
    deeper: int  # sessions of sub-agents that were not read
    is_cut: bool
    levels: int = LEVELS
    turns_max: int = TURNS_MAX

    @property
    def other_widths(self) -> Sequence[tuple[str, str]]:
        """Return the names and links of the other widths."""
        return [(NAMES[by], self.params.but(by=by)) for by in MEASURES if by != self.params.by]


@dataclass(frozen=True, slots=True)
class Flames:
    """The query of the panel for pages with these parameters."""

    project: int
    params: FlameParams

    def __call__(self, pks: Collection[int]) -> Mapping[int, FlameView]:
        """Return what the panel shows. A session that no longer exists is left out.

        Raises EventRecord.DoesNotExist if `at` is no event of the session.
        """
        wanted = {*pks, *([self.params.other] if self.params.other is not None else [])}
        found = sessions(self.project, wanted)
        other = found.get(self.params.other or 0)
        return {pk: self._view(found[pk], other) for pk in pks if pk in found}

    def _view(self, session: Session, other: Session | None) -> FlameView:
        read = [records(session, moment_of(session, self.params.at))]
        if other is not None:
            read.append(records(other, Moment()))
        drawn = _figure(read, self.params, _url_of(session, self.params.at))
        return FlameView(
            self.params, drawn, sum(each.deeper for each in read), any(each.is_cut for each in read)
        )


def _figure(found: Sequence[Records], params: FlameParams, url_of: Callable[[Place], str]) -> Figure:
    """Return the drawing: first without blocks, then with those of the turns that are wide enough."""
    turns = wide_turns(_tree(found), params, least=WITH_BLOCKS) if params.by != "time" else ()
    if turns:
        wide = set(turns)
        found = [_with_blocks(each, wide) for each in found]
    return figure(_tree(found), params, url_of)


def _tree(found: Sequence[Records]) -> Node:
    trees = [tree(each) for each in found]
    return identified(merged(*trees) if len(trees) > 1 else trees[0])


def _with_blocks(found: Records, wide: set[int]) -> Records:
    sizes = {pk: tokens for pk, tokens in contexts(found).items() if pk in wide}
    return replace(found, parts=parts_of_turns(sizes) if sizes else {})


def _url_of(session: Session, at: int | None) -> Callable[[Place], str]:
    """Return a function that links to a turn, or to a loop; those of the session as of the event."""
    slug = session.project.slug

    def url_of(place: Place) -> str:
        turn = "" if place.number is None else place.number
        if place.session == session.pk and at is not None:
            url = links.as_of(slug, place.session, at, loop=place.loop, turn=turn)
        else:
            url = links.loop(slug, place.session, place.loop, turn=turn)
        return f"{url}#turn-{turn}" if turn else url

    return url_of
