"""Loops that are together: those of one trace, and those that started each other.

A unit may hold more than one group, as two calls with equal figures may be one.

Cost: nearly linear in the number of spans; of two groups that are joined the smaller one is copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from recorder.core.formats.otlp.plan.loops import LoopPlan


@dataclass(slots=True, eq=False)
class _Group:
    """Loops that are together, and the group that they were joined to."""

    plans: deque[LoopPlan] = field(default_factory=deque)
    place: int = 0  # of the loop that was added last
    into: _Group | None = None

    def joined(self) -> _Group:
        """Return the group that holds these loops now."""
        last = self
        while last.into is not None:
            last = last.into
        group = self
        while group.into is not None:  # shorten the path
            group.into, group = last, group.into
        return last


def connected(
    plans: Sequence[LoopPlan], traces_of: Callable[[LoopPlan], Iterable[str]]
) -> list[list[LoopPlan]]:
    """Return the loops in groups; `traces_of` yields the traces of a loop's spans."""
    of_name: dict[str, _Group] = {}
    for place, plan in enumerate(plans):
        names = {plan.key, *traces_of(plan)}
        if plan.parent is not None:
            names.add(plan.parent.key)
        joined = [of_name[name].joined() for name in names if name in of_name]
        before = {id(group): group for group in joined}
        into = _merged(sorted(before.values(), key=_place, reverse=True))
        into.plans.append(plan)
        into.place = place
        of_name.update(dict.fromkeys(names, into))
    found = {id(group): group for group in (each.joined() for each in of_name.values())}
    return [list(group.plans) for group in sorted(found.values(), key=_place)]


def _place(group: _Group) -> int:
    return group.place


def _merged(groups: Sequence[_Group]) -> _Group:
    """Return one group in place of some, whose loops come in this order; a new one for none."""
    if not groups:
        return _Group()
    into = groups[0]
    for group in groups[1:]:
        if len(group.plans) > len(into.plans):
            group.plans.extendleft(reversed(into.plans))
            into.into, into = group, group
        else:
            into.plans.extend(group.plans)
            group.into = into
    return into
