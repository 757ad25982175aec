"""All sessions of a list for a download, in chunks: memory does not grow with the rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries.list import matching
from dashboard.pages.sessions.queries.rows import cost_by_config
from dashboard.shared.queries.config_labels import chips
from dashboard.shared.session_json.queries.sessions import session_items
from dashboard.shared.session_json.schemas import SessionItem
from dashboard.shared.session_state import end_of_session
from recorder.models import Project, Session

CHUNK = 500  # sessions in memory at a time
MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Downloaded:
    """One session of a download: the item of the read API, and what else the list shows."""

    item: SessionItem
    configs: Sequence[str]  # labels, in order of first use
    duration_ms: int | None  # None while it runs


def chunks(project: Project, filters: Filters, now: datetime) -> Iterator[list[Downloaded]]:
    """Yield all sessions that match, in the order of the list. Eight queries a chunk at most.

    Which sessions match, and their order, is read first, as 8 bytes each: a session that is active while the
    download runs neither is left out nor comes twice. One that is deleted meanwhile is left out.
    """
    found = filters.order.sort(matching(project.pk, filters, now)).values_list("pk", flat=True)
    pks = array("q", found.iterator(chunk_size=2_000))
    for start in range(0, len(pks), CHUNK):
        yield _chunk(project, pks[start : start + CHUNK].tolist())


def _chunk(project: Project, pks: list[int]) -> list[Downloaded]:
    sessions = Session.objects.filter(project=project).defer("formation", "summary", "working_dir")
    by_pk = sessions.in_bulk(pks)
    rows = [by_pk[pk] for pk in pks if pk in by_pk]
    used = cost_by_config(pks)
    labels = chips({config for costs in used.values() for config, _ in costs})
    return [
        Downloaded(
            item,
            [labels[config].full for config, _ in used[row.pk] if config in labels],
            _duration_ms(row),
        )
        for item, row in zip(session_items(project, rows), rows, strict=True)
    ]


def _duration_ms(session: Session) -> int | None:
    ended_at = end_of_session(session)
    return None if ended_at is None else max((ended_at - session.created_at) // MS, 0)
