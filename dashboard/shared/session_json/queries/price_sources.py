"""The source of the prices of loops and sessions: by model and provider, or by the model alone.

Few projects have a price without a provider. The condition `Exists` is evaluated once: without such a price
no turn is read.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Exists, F, QuerySet

from dashboard.shared.compiled_query import compiled
from recorder.models import LoopRecord, Price, Turn


def inferred_in_loops(project: int, loops: Collection[int]) -> set[int]:
    """Return the loops with a call that was priced by its model alone. One query."""
    return set(_of_loops(project, loops))


def inferred_in_sessions(project: int, sessions: Collection[int]) -> set[int]:
    """Return the sessions with a call that was priced by its model alone. One query."""
    return set(_of_sessions(project, sessions))


@compiled
def _of_loops(project: int, loops: Collection[int]) -> QuerySet[Turn, int]:
    prices = _without_provider(project)
    turns = Turn.objects.filter(Exists(prices), loop__in_list=loops, price__in=prices)
    # A loop has a price itself if it was billed as one call.
    whole = LoopRecord.objects.filter(Exists(prices), pk__in_list=loops, price__in=prices)
    return turns.values_list("loop_id", flat=True).union(whole.values_list("pk", flat=True))


@compiled
def _of_sessions(project: int, sessions: Collection[int]) -> QuerySet[Turn, int]:
    prices = _without_provider(project)
    turns = Turn.objects.filter(Exists(prices), loop__session__in_list=sessions, price__in=prices)
    whole = LoopRecord.objects.filter(Exists(prices), session__in_list=sessions, price__in=prices)
    of_turns = turns.annotate(of=F("loop__session_id")).values_list("of", flat=True)
    return of_turns.union(whole.values_list("session_id", flat=True))


def _without_provider(project: int) -> QuerySet[Price, int]:
    return Price.objects.filter(project=project, provider="").values_list("pk", flat=True)
