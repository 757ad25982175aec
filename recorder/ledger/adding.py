"""Adds ended calls to the ledger. A call that breaks it is skipped: logged, and noted as a `LedgerGap`.

Its cost is in the sums as undivided, and the calls behind it are added as if it were not there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from django.db import transaction

from recorder.core.content.labels import metadata_of
from recorder.follower import skipping
from recorder.ledger import calls, chains, changes, costs, state, sums, turns
from recorder.ledger.chains import Chain
from recorder.ledger.turns import End
from recorder.models import LedgerCall, LedgerGap, Session
from recorder.models.ledger import NAME

log = logging.getLogger(__name__)

AT_ONCE = 50  # calls, read and written together


def add(ends: Sequence[End]) -> None:
    """Add calls in order. The caller holds the lock, in a transaction.

    Raises Busy and StoreError if the store is at fault; what else is raised skips the call that raises it.
    """
    skipping.add_each("ledger", ends, _add, _skip)


def again(session: int, ends: Sequence[End], *, is_whole: bool) -> None:
    """Make a session again from its calls; without `is_whole` only its sums. The caller holds the lock."""
    if is_whole:
        state.forget_session(session)
        for at in range(0, len(ends), AT_ONCE):
            add(ends[at : at + AT_ONCE])
        return
    try:
        with transaction.atomic():
            sums.recount(session, _versions([session]).get(session, ""))
    except Exception as error:
        skipping.raise_if_of_store(error)
        log.exception("the sums of the session with the key %d cannot be made again and stay", session)


def _add(ends: Sequence[End]) -> None:
    known_turns = set(
        LedgerCall.objects.filter(turn__in=[end.turn for end in ends]).values_list("turn", flat=True)
    )
    ended = turns.ended([end.turn for end in ends if end.turn not in known_turns])
    if not ended:
        return
    spent = costs.of_turns([turn.id for turn in ended])
    versions = _versions({turn.session for turn in ended})
    added = sums.Sums()
    chain_of: dict[tuple[int, str], Chain] = {}
    for turn in ended:
        chain = chain_of.get((turn.loop, turn.agent_id)) or chains.find(turn)
        chain = next((each for each in chain_of.values() if each.row.pk == chain.row.pk), chain)
        chain_of[turn.loop, turn.agent_id] = chain
        call = calls.call_of(turn, chain.window, chain.earlier)
        before = chain.window.held
        entry = changes.mark(turn, chain.earlier, chain.window.add(call), len(before))
        change = changes.of_entry(entry, before, chain)
        chain.note(turn, entry, is_recorded=call.request.is_recorded, compacted=call.compacted)
        cost, version = spent[turn.id], versions.get(turn.session, "")
        about = sums.About(turn.project, turn.session, cost.day, turn.agent_id, version, cost.model)
        added.add(about, cost, sums.counted(chain, entry, change))
    for chain in {chain.row.pk: chain for chain in chain_of.values()}.values():
        chain.save()
    added.write()


def _skip(end: End, error: Exception) -> None:
    LedgerGap.objects.create(
        project_id=end.project,
        session=end.session,
        loop=end.loop,
        turn=end.turn,
        end_event=end.line,
        error=type(error).__name__[:NAME],  # the text may quote what was recorded
    )
    try:
        with transaction.atomic():
            sums.add_gaps(end.session, [end.turn], _versions([end.session]).get(end.session, ""))
    except Exception as another:
        skipping.raise_if_of_store(another)
        log.exception("the cost of the call that ends with line %d is in no sum of the ledger", end.line)


def _versions(sessions: Iterable[int]) -> dict[int, str]:
    """Return the first version that the metadata of each session names."""
    rows = Session.objects.filter(pk__in=sessions).values_list("pk", "metadata")
    return {pk: found[0] for pk, metadata in rows if (found := metadata_of(metadata).get("version"))}
