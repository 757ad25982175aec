"""Finds the sessions that an as-of view needs: those below it, those above it, and the lines that link them.

Sub-agents are those that are linked now. The lines of the sessions above are needed because they make a
session a sub-agent, often only after it has ended: a tool returns, and its result names the loop that it
ran. So the lines that link a session to the loop that started it apply at every event of it, even at earlier
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from django.db.models import Q

from recorder.core.handlers.lineage import MAX_DEPTH
from recorder.models import ChildLoopRef, Session

MOST_SESSIONS = 200  # sub-agents of sub-agents that are shown with a session


def session_and_sub_agents(session: int) -> list[int]:
    """Return the key of a session and of those below it. One query a level."""
    known, frontier = {session: None}, [session]
    while frontier and len(known) < MOST_SESSIONS:
        below = Session.objects.filter(parent__session__in=frontier).order_by("pk")
        frontier = [pk for pk in below.values_list("pk", flat=True)[:MOST_SESSIONS] if pk not in known]
        known |= dict.fromkeys(frontier)
    return list(known)


def spawners(session: int) -> list[int]:
    """Return the keys of the sessions above one, the nearest last, up to one whose bodies were pruned.

    One query a level.
    """
    above: list[int] = []
    lowest = session
    while len(above) < MAX_DEPTH:
        parent = Session.objects.filter(loop_records__spawned_sessions=lowest).first()
        if parent is None or parent.pruned_on is not None or parent.pk in (session, *above):
            break
        lowest = parent.pk
        above.insert(0, lowest)
    return above


def links(above: Sequence[int], session: int, after: int) -> list[int]:
    """Return the lines after an event by which each session above one started the next, and the last one it.

    They are the lines that name a sub-agent, and the start of a loop that started one before its own start
    was recorded. Two queries a level.
    """
    found: set[int] = set()
    for parent, child in pairwise([*above, session]):
        ((name, start),) = Session.objects.filter(pk=child).values_list("session_id", "parent__start_event")
        named = ChildLoopRef.objects.filter(loop__session=parent, event__gt=after)
        named = named.filter(Q(child__session=child) | Q(child_session_id=name))
        found.update(event or 0 for event in named.values_list("event", flat=True))
        found.add(start or 0)
    return sorted(line for line in found if line > after)
