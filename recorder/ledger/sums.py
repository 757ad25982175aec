"""The sums of the ledger: of sessions and days as calls are added, and of projects and days from those."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from django.db import DatabaseError, transaction
from django.db.models import Count, QuerySet, Sum

from recorder.core.ledger.cost_classes import class_of
from recorder.core.ledger.costs import lost, of_each, to_nano
from recorder.core.ledger.window import Entry, numbers_of
from recorder.database.errors import raise_as_store_error
from recorder.ledger import changes, costs, state
from recorder.ledger.chains import Chain, Name, name_of
from recorder.ledger.costs import Cost
from recorder.ledger.turns import ended
from recorder.models import LedgerChain, LedgerDay, LedgerDirtyDay, LedgerGap, LedgerSum

OUTPUT, UNDIVIDED, MISS, REQUEST = "output", "undivided", "miss", "request"
NO_PART = (MISS, REQUEST)  # of the cost: they say again what other sums have
FIGURES = ("calls", "tokens", "blocks", "block_tokens", "cost_nano")
PARTS = ("agent_id", "version", "model", "kind", "name", "server")
DAYS_AT_ONCE = 20
MAX = 2**62  # a column holds 63 bits; sums of hostile counts stay below


@dataclass(slots=True)
class _Figures:
    calls: int = 0
    tokens: int = 0
    blocks: int = 0
    block_tokens: int = 0
    cost_nano: int = 0


class About(NamedTuple):
    """Whose figures: project and session by primary key, the day, and agent, version and model of a call."""

    project: int
    session: int
    day: date
    agent_id: str
    version: str
    model: str


class Counted(NamedTuple):
    """A call for the sums: the names and tokens of its window and of its new blocks, and its verdict.

    `change` is what changed in its request, "" if that is unknown or caused no loss.
    """

    window: Sequence[tuple[Name, int]]
    new: Sequence[tuple[Name, int]]
    verdict: str
    lost_tokens: int
    expected_read: int
    change: str


@dataclass(slots=True)
class Sums:
    """The sums that a step adds, by project, session, day and part."""

    found: dict[tuple[About, Name], _Figures] = field(default_factory=lambda: defaultdict(_Figures))

    def add(self, about: About, cost: Cost, call: Counted) -> None:
        """Add one call. Cost: proportional to its window."""
        units = [0] * len(call.window)
        if cost.divided is not None and cost.billed is not None:
            tokens = [count for _, count in call.window]
            units = of_each(cost.divided.bands, cost.billed.prompt, tokens)
        by_name: dict[Name, list[int]] = defaultdict(lambda: [0, 0])
        for (name, count), spent in zip(call.window, units, strict=True):
            found = by_name[name]
            found[0] += count
            found[1] += spent
        output = 0 if cost.divided is None else cost.divided.context + cost.divided.output - sum(units)
        nano = to_nano([*(spent for _, spent in by_name.values()), output])
        for (name, (count, _)), spent in zip(by_name.items(), nano, strict=False):
            self._add(about, name, calls=1, tokens=count, cost_nano=spent)
        self._add_output(about, cost, nano[-1])
        for name, count in call.new:
            self._add(about, name, blocks=1, block_tokens=count)
        self._add_miss(about, cost, call)
        self._add_request(about, cost)

    def _add_request(self, about: About, cost: Cost) -> None:
        """Count a call among those of about its cost."""
        if cost.cost_nano:
            size = class_of(min(MAX, cost.cost_nano))
            self._add(about, (REQUEST, size, ""), calls=1, cost_nano=cost.cost_nano)

    def _add_output(self, about: About, cost: Cost, nano: int) -> None:
        tokens = cost.billed.visible + cost.billed.reasoning if cost.billed is not None else 0
        self._add(about, (OUTPUT, "", ""), calls=1, tokens=tokens, cost_nano=nano)
        if cost.undivided_nano:
            self._add(about, (UNDIVIDED, "", ""), calls=1, cost_nano=cost.undivided_nano)

    def _add_miss(self, about: About, cost: Cost, call: Counted) -> None:
        nano = 0
        if cost.divided is not None and call.lost_tokens:
            nano = to_nano([lost(cost.divided.bands, call.lost_tokens)])[0]
        is_lost = int(call.lost_tokens > 0)
        figures = {"calls": 1, "tokens": call.lost_tokens, "blocks": is_lost, "cost_nano": nano}
        self._add(about, (MISS, call.verdict, call.change), **figures, block_tokens=call.expected_read)

    def add_gap(self, about: About, cost: Cost) -> None:
        """Add the cost of a call that the ledger could not take."""
        self._add(about, (UNDIVIDED, "", ""), calls=1, cost_nano=cost.cost_nano or 0)
        self._add_request(about, cost)

    def _add(self, about: About, name: Name, **figures: int) -> None:
        found = self.found[about, name]
        for each, value in figures.items():
            setattr(found, each, min(MAX, getattr(found, each) + value))

    def write(self) -> None:
        """Add to the rows of the sessions, and mark their days."""
        sessions = {about.session for about, _ in self.found}
        rows = {_key(row): row for row in LedgerSum.objects.filter(session__in=sessions)}
        new, changed = [], []
        for (about, (kind, name, server)), figures in self.found.items():
            row = rows.get((about, (kind, name, server)))
            if row is None:
                row = LedgerSum(
                    project_id=about.project,
                    session=about.session,
                    day=about.day,
                    agent_id=about.agent_id,
                    version=about.version,
                    model=about.model,
                    kind=kind,
                    name=name,
                    server=server,
                )
                new.append(row)
            else:
                changed.append(row)
            for each in FIGURES:
                setattr(row, each, min(MAX, getattr(row, each) + getattr(figures, each)))
        LedgerSum.objects.bulk_create(new, batch_size=200)
        LedgerSum.objects.bulk_update(changed, FIGURES, batch_size=50)
        state.mark_days({(about.project, about.day) for about, _ in self.found})


def _key(row: LedgerSum) -> tuple[About, Name]:
    about = About(row.project_id, row.session, row.day, row.agent_id, row.version, row.model)
    return about, (row.kind, row.name, row.server)


def counted(chain: Chain, entry: Entry, change: str) -> Counted:
    """Return a call that was added to a chain just now."""
    found = entry.judgement
    return Counted(
        [(chain.names[held.number], held.tokens) for held in chain.window.held],
        [(chain.names[new.number], new.tokens) for new in entry.new],
        found.verdict,
        found.lost_tokens,
        found.expected_read or 0,
        change,
    )


def recount(session: int, version: str) -> None:
    """Make the sums of a session again from its calls and blocks, at what its calls cost now. Six queries."""
    added = Sums()
    spent = costs.of_session(session)
    for chain in LedgerChain.objects.filter(session=session):
        blocks = {block.number: block for block in chain.blocks.all()}
        names = {number: name_of(block) for number, block in blocks.items()}
        new: dict[int, list[tuple[Name, int]]] = defaultdict(list)
        for number, block in blocks.items():
            new[block.first_call].append((names[number], block.tokens))
        before: list[int] = []
        for call in chain.calls.order_by("number"):
            cost, after = spent.get(call.turn), numbers_of(call.ranges)
            change = changes.of_call(call, before, after, blocks)
            before = after
            if cost is None:
                continue
            about = About(chain.project_id, session, cost.day, chain.agent_id, version, cost.model)
            window = [(names[number], blocks[number].tokens) for number in after]
            judged = call.verdict, call.lost_tokens, call.expected_read or 0
            added.add(about, cost, Counted(window, new[call.number], *judged, change))
    gaps = LedgerGap.objects.filter(session=session).values_list("turn", flat=True)
    _add_gaps(added, session, list(gaps), version)
    earlier = LedgerSum.objects.filter(session=session)
    state.mark_days(set(earlier.values_list("project_id", "day")))
    earlier.delete()
    added.write()


def add_gaps(session: int, turns: Collection[int], version: str) -> None:
    """Add calls that the ledger could not take to the sums of their session."""
    added = Sums()
    _add_gaps(added, session, turns, version)
    added.write()


def _add_gaps(added: Sums, session: int, turns: Collection[int], version: str) -> None:
    found = {turn.id: turn for turn in ended(turns)} if turns else {}
    for pk, cost in costs.of_turns(found).items() if found else ():
        turn = found[pk]
        added.add_gap(About(turn.project, session, cost.day, turn.agent_id, version, cost.model), cost)


def add_up_days(*, is_patient: bool = True) -> bool:
    """Add up some days that were marked; return whether there were any.

    While another node has the lock it waits, or does nothing if it is not patient.
    """
    with transaction.atomic():
        if is_patient:
            state.lock()
        elif not state.try_lock():
            return False
        marked = list(LedgerDirtyDay.objects.order_by("pk")[:DAYS_AT_ONCE])
        for each in marked:
            _add_up(each.project_id, each.day)
        LedgerDirtyDay.objects.filter(pk__in=[each.pk for each in marked]).delete()
    return bool(marked)


def _add_up(project: int, day: date) -> None:
    of_day = LedgerSum.objects.filter(project=project, day=day)
    try:
        with transaction.atomic():
            rows = [(tuple(row[part] for part in PARTS), row) for row in _summed(of_day)]
    except DatabaseError as error:
        raise_as_store_error(error)
        rows = _capped(of_day)  # a sum of hostile counts is larger than a column
    LedgerDay.objects.filter(project=project, day=day).delete()
    LedgerDay.objects.bulk_create(
        [
            LedgerDay(
                project_id=project,
                day=day,
                sessions=row["sessions"],
                **dict(zip(PARTS, parts, strict=True)),
                **{name: min(MAX, row[f"sum_{name}"]) for name in FIGURES},
            )
            for parts, row in rows
        ],
        batch_size=200,
    )


def _summed(of_day: QuerySet[LedgerSum]) -> Iterable[dict[str, Any]]:
    figures = {f"sum_{name}": Sum(name) for name in FIGURES}
    yield from of_day.values(*PARTS).annotate(sessions=Count("session", distinct=True), **figures)


def _capped(of_day: QuerySet[LedgerSum]) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Add up rows one by one. Cost: a row in memory for each."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    sessions: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for row in of_day:
        parts = tuple(getattr(row, part) for part in PARTS)
        total = found.setdefault(parts, {f"sum_{name}": 0 for name in FIGURES})
        sessions[parts].add(row.session)
        total |= {f"sum_{name}": total[f"sum_{name}"] + getattr(row, name) for name in FIGURES}
        total["sessions"] = len(sessions[parts])
    return list(found.items())
