"""Query parameters of the page: a session, or a period and an agent; and models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.http import Http404
from django.utils import timezone

from dashboard.shared.what_if.models import MODELS_MAX, key_of
from dashboard.shared.what_if.queries.sessions import session_of
from dashboard.shared.what_if.scope import Scope, days
from dashboard.web.filters import FilterPage
from dashboard.web.query_params import Address, Reading
from dashboard.web.time_range import read_range, time_range
from recorder.core.money.prices import PriceKey

if TYPE_CHECKING:
    from django.http import QueryDict

SINCE = ("24h", "7d", "14d", "30d", "90d")
FILTERS = FilterPage(filters=(), windows=SINCE, keeps=("agent", "model"))


@dataclass(frozen=True, slots=True)
class WhatIfParams(Address):
    """The page's query string. `notes` name the parameters that were invalid and ignored."""

    session: str = ""
    since: str = "7d"
    until: str = ""
    agent: str = ""
    model: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> WhatIfParams:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        since, until = read_range(read, SINCE, "7d")
        models = read.values("model")
        for name in models[MODELS_MAX:]:
            read.ignore("model", name, f"at most {MODELS_MAX} models are compared")
        return cls(
            session=read.text("session"),
            since=since,
            until=until,
            agent=read.text("agent"),
            model=models[:MODELS_MAX],
            notes=tuple(read.notes),
        )

    @property
    def models(self) -> list[PriceKey]:
        return [key_of(name) for name in self.model]

    def scope(self, project: int) -> Scope:
        """Return whose calls are computed. Raises Http404."""
        if self.session:
            found = session_of(project, self.session)
            if found is None:
                raise Http404
            return Scope(project, found)
        within = time_range(self, timezone.now())
        return days(project, within.start, within.end or timezone.now(), self.agent)
