"""The rows of the list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min, Sum

from dashboard.shared.config_labels import Chip, chips
from dashboard.shared.session_filter import OPEN
from dashboard.shared.usage_bar import kinds
from recorder.models import LoopRecord, Session

CHIPS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One session as the list shows it."""

    slug: str
    session: Session
    state: str  # waiting, an open status, or the outcome
    configs: tuple[Chip, ...]
    more_configs: tuple[Chip, ...]
    mix: tuple[tuple[str, int], ...]  # nano-dollars by config, each with its colour

    @property
    def title(self) -> str:
        return self.session.title or self.session.session_id

    @property
    def is_live(self) -> bool:
        return self.session.status in OPEN

    @property
    def ended_at(self) -> datetime | None:
        """When it ended; None while the page counts up."""
        return None if self.is_live else self.session.ended_at or self.session.last_event_at

    @property
    def tokens(self) -> int:
        return sum(kind.count for kind in kinds(self.session))


def rows(project: int, pks: Collection[int]) -> Mapping[int, Row]:
    """Return the rows of those sessions that are the project's."""
    sessions = Session.objects.filter(project=project, pk__in=pks).select_related("project")
    spent = _spent(pks)
    used = {session: [config for config, _ in configs] for session, configs in spent.items()}
    known = chips({config for configs in used.values() for config in configs})
    found = {}
    for session in sessions.defer("formation", "summary", "working_dir"):
        shown = [known[config] for config in used[session.pk] if config in known]
        found[session.pk] = Row(
            slug=session.project.slug,
            session=session,
            state=state(session),
            configs=tuple(shown[:CHIPS_SHOWN]),
            more_configs=tuple(shown[CHIPS_SHOWN:]),
            mix=tuple(
                (f"config-{known[config].slot}", nano)
                for config, nano in spent[session.pk]
                if config in known
            ),
        )
    return found


def state(session: Session) -> str:
    """Return the one word for how a session is: what asks for attention outranks the rest."""
    if session.waiting:
        return "waiting"
    return session.status if session.status in OPEN else session.outcome or session.status


def _spent(pks: Collection[int]) -> Mapping[int, list[tuple[int, int]]]:
    """Return the configs of each session in the order in which they were first used, and what they cost."""
    loops = LoopRecord.objects.filter(session__in=pks, config__isnull=False)
    spent: dict[int, list[tuple[int, int]]] = {pk: [] for pk in pks}
    sums = loops.values("session_id", "config_id").annotate(first=Min("pk"), nano=Sum("cost_nano"))
    for session, config, nano in sums.order_by("first").values_list("session_id", "config_id", "nano"):
        spent[session].append((config, int(nano or 0)))
    return spent
