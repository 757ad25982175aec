"""The progress of the ledger of each project, and what is to be made again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from recorder.follower.cursors import Cursors
from recorder.models import (
    LedgerBlock,
    LedgerCall,
    LedgerChain,
    LedgerDay,
    LedgerDirtyDay,
    LedgerGap,
    LedgerState,
    LedgerSum,
    Session,
)

VERSION = 4  # of the rules by which blocks and verdicts are made
CURSORS = Cursors(LedgerState, VERSION, lock_key=7_206)
lock, try_lock = CURSORS.lock, CURSORS.try_lock


def ensure_all() -> None:
    """Begin the ledger of every project that has none, and begin those of other rules anew."""
    CURSORS.ensure_all(forget)


def forget(project: int) -> None:
    """Delete the ledger of a project; it is made again from its first call.

    Sessions whose bodies were pruned keep theirs: it could not be made again.
    """
    lock()
    pruned = Session.objects.filter(project=project, pruned_on__isnull=False).values("pk")
    chains = LedgerChain.objects.filter(project=project).exclude(session__in=pruned)
    LedgerBlock.objects.filter(chain__in=chains).delete()
    LedgerCall.objects.filter(chain__in=chains).delete()
    chains.delete()
    for model in (LedgerSum, LedgerGap):
        model.objects.filter(project=project).exclude(session__in=pruned).delete()
    for by_day in (LedgerDay, LedgerDirtyDay):
        by_day.objects.filter(project=project).delete()
    mark_days(set(LedgerSum.objects.filter(project=project).values_list("project_id", "day")))
    CURSORS.begin_anew(project)


def forget_session(session: int) -> None:
    """Delete the ledger of a session; the days that it was counted in are added up again."""
    lock()
    counted = LedgerSum.objects.filter(session=session)
    days = set(counted.values_list("project_id", "day"))
    mark_days(days)
    counted.delete()
    LedgerGap.objects.filter(session=session).delete()
    LedgerBlock.objects.filter(session=session).delete()
    LedgerCall.objects.filter(session=session).delete()
    LedgerChain.objects.filter(session=session).delete()


def mark_days(days: Collection[tuple[int, date]]) -> None:
    """Note days, with their projects, that are to be added up again."""
    LedgerDirtyDay.objects.bulk_create(
        [LedgerDirtyDay(project_id=project, day=day) for project, day in sorted(days)], ignore_conflicts=True
    )
