"""Rows of the list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

from django.db.models import F, Min, QuerySet, Sum

from dashboard.pages.sessions.params import COLUMNS
from dashboard.shared.compiled_query import compiled
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.series_colours import chart_chips, series_class
from dashboard.shared.session_state import end_of_session, state_of_session
from dashboard.shared.usage_bar import kinds
from recorder.core.content.labels import metadata_of, tags_of
from recorder.models import LoopRecord, Session, Turn

CHIPS_SHOWN = 4
LABELS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SessionListRow:
    """One session; root of the panel sessions/row."""

    slug: str
    session: Session
    state: str  # stale, waiting, an open status, or the outcome
    configs: tuple[Chip, ...]
    more_configs: tuple[Chip, ...]
    mix: tuple[tuple[str, int], ...]  # nano-dollars by config, each with its colour
    columns: tuple[str, ...]  # after the first

    @property
    def pk(self) -> int:
        return self.session.pk

    @property
    def fingerprint(self) -> str:
        """Return a digest of everything that the row shows; its ages are counted in the browser."""
        columns = [value for name, value in vars(self.session).items() if not name.startswith("_")]
        shown = self.slug, self.state, columns, self.configs, self.more_configs, self.mix, self.columns
        return blake2b(repr(shown).encode(errors="surrogatepass"), digest_size=20).hexdigest()

    @property
    def title(self) -> str:
        return self.session.title or self.session.session_id

    @property
    def ended_at(self) -> datetime | None:
        """End of the session, or its last event if it is stale; None while it runs."""
        return end_of_session(self.session)

    @property
    def labels(self) -> list[str]:
        """Return tags, and metadata as "name = value"."""
        metadata = metadata_of(self.session.metadata).items()
        pairs = [f"{name} = {value}" for name, values in metadata for value in values]
        return [*tags_of(self.session.tags), *pairs]

    @property
    def shown_labels(self) -> list[str]:
        return self.labels[:LABELS_SHOWN]

    @property
    def more_labels(self) -> list[str]:
        return self.labels[LABELS_SHOWN:]

    @property
    def tokens(self) -> int:
        return sum(kind.count for kind in kinds(self.session))


def rows(
    project: int, pks: Collection[int], columns: tuple[str, ...] = COLUMNS.usual
) -> Mapping[int, SessionListRow]:
    """Return the rows of the sessions that belong to the project."""
    costs = cost_by_config(pks)
    used = {session: [config for config, _ in configs] for session, configs in costs.items()}
    chips_by_config = chips({config for configs in used.values() for config in configs})
    row_of = {}
    for session in _sessions(project, pks):
        own_chips = chart_chips(
            {config: chips_by_config[config] for config in used[session.pk] if config in chips_by_config}
        )
        shown = list(own_chips.values())
        row_of[session.pk] = SessionListRow(
            slug=session.project.slug,
            session=session,
            state=state_of_session(session),
            configs=tuple(shown[:CHIPS_SHOWN]),
            more_configs=tuple(shown[CHIPS_SHOWN:]),
            mix=tuple(
                (series_class(own_chips[config].slot), nano)
                for config, nano in costs[session.pk]
                if config in own_chips
            ),
            columns=columns,
        )
    return row_of


def cost_by_config(pks: Collection[int]) -> Mapping[int, list[tuple[int, int]]]:
    """Return config and cost (nano-dollars) of each session, in order of first use.

    One query; another one if a loop's turns had several configs or agents.
    """
    costs: dict[int, dict[int, int]] = {pk: {} for pk in pks}
    switched = set()
    for session, config, has_switched, _, nano in _of_loops(pks):
        costs[session][config] = costs[session].get(config, 0) + (0 if has_switched else int(nano or 0))
        if has_switched:
            switched.add(session)
    if switched:
        for session, config, _, nano in _of_turns(switched):
            costs[session][config] = costs[session].get(config, 0) + int(nano or 0)
    return {session: list(of_session.items()) for session, of_session in costs.items()}


@compiled
def _sessions(project: int, pks: Collection[int]) -> QuerySet[Session]:
    sessions = Session.objects.filter(project=project, pk__in_list=pks).select_related("project")
    return sessions.defer("formation", "summary", "working_dir")


@compiled
def _of_loops(sessions: Collection[int]) -> QuerySet[LoopRecord, tuple[Any, ...]]:
    loops = LoopRecord.objects.filter(session__in_list=sessions, config__isnull=False)
    sums = loops.values("session_id", "config_id", "has_switched").annotate(first=Min("pk"))
    columns = ("session_id", "config_id", "has_switched", "first", "nano")
    return sums.annotate(nano=Sum("cost_nano")).order_by("first").values_list(*columns)


@compiled
def _of_turns(sessions: Collection[int]) -> QuerySet[Turn, tuple[Any, ...]]:
    ended = Turn.objects.filter(
        loop__session__in_list=sessions, loop__has_switched=True, config__isnull=False
    )
    sums = ended.values("config_id", of=F("loop__session")).annotate(first=Min("pk"), nano=Sum("cost_nano"))
    return sums.order_by("first").values_list("of", "config_id", "first", "nano")
