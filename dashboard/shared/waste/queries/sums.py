"""The cost of waste over some days of a project, by rule, and the sessions with the most of it.

Cost: bounded by `NEWEST` findings, which an index on their time gives; a page says when there are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from dashboard.shared.compiled_query import in_list, list_param, select
from dashboard.shared.waste.queries.wastes import NANO, TOKENS, UNPRICED, Wasted
from dashboard.shared.waste.words import LABELS, label
from recorder.models import Waste

NEWEST = 1_000  # findings of a period that are added up
_SUMS = f"""SELECT w.session, w.rule, COUNT(DISTINCT w.id), COUNT(*),
SUM({TOKENS}), SUM({NANO}), SUM({UNPRICED})
FROM recorder_waste w JOIN recorder_wastedcall c ON c.waste_id = w.id
LEFT JOIN recorder_turn t ON t.id = c.turn WHERE {{}} GROUP BY w.session, w.rule"""  # noqa: S608  names


@dataclass(frozen=True, slots=True)
class RuleSum:
    """The findings of one rule in a period."""

    rule: str
    findings: int
    wasted: Wasted

    @property
    def label(self) -> str:
        return label(self.rule)


@dataclass(frozen=True, slots=True)
class SessionSum:
    """The waste of one session in a period; `rule` is the one that cost most."""

    session: int
    findings: int
    rule: str
    wasted: Wasted

    @property
    def label(self) -> str:
        return label(self.rule)


@dataclass(frozen=True, slots=True)
class PeriodWaste:
    """The waste of a period: rules and sessions, the dearest first. `is_cut`: only of its newest findings."""

    rules: Sequence[RuleSum]
    sessions: Sequence[SessionSum]
    is_cut: bool

    @property
    def wasted(self) -> Wasted:
        whole = Wasted()
        for rule in self.rules:
            whole += rule.wasted
        return whole


def of_period(project: int, first: date, last: date, agents: Sequence[str] = ()) -> PeriodWaste:
    """Return the waste that was found last on days of a period, in UTC, of any of the agents. Two queries."""
    start, end = (datetime.combine(day, time(), UTC) for day in (first, last + timedelta(days=1)))
    wastes = Waste.objects.filter(project=project, last_at__gte=start, last_at__lt=end)
    if agents:
        wastes = wastes.filter(agent_id__in=agents)
    pks = list(wastes.order_by("-last_at").values_list("pk", flat=True)[: NEWEST + 1])
    summed = select(_SUMS.format(in_list("w.id")), list_param(pks[:NEWEST])) if pks else []
    parts = [_part(*row) for row in summed]
    rules: dict[str, RuleSum] = {}
    sessions: dict[int, list[RuleSum]] = {}
    for session, part in parts:
        known = rules.get(part.rule, RuleSum(part.rule, 0, Wasted()))
        rules[part.rule] = RuleSum(part.rule, known.findings + part.findings, known.wasted + part.wasted)
        sessions.setdefault(session, []).append(part)
    return PeriodWaste(
        sorted(rules.values(), key=_by_cost),
        sorted((_session(session, of_it) for session, of_it in sessions.items()), key=_by_cost),
        len(pks) > NEWEST,
    )


def _part(
    session: int, rule: str, findings: int, calls: int, tokens: int, nano: int | None, unpriced: int
) -> tuple[int, RuleSum]:
    wasted = Wasted(calls, int(tokens or 0), None if nano is None else int(nano), unpriced)
    return session, RuleSum(rule, findings, wasted)


def _session(session: int, parts: Sequence[RuleSum]) -> SessionSum:
    whole = Wasted()
    for part in parts:
        whole += part.wasted
    return SessionSum(session, sum(part.findings for part in parts), min(parts, key=_by_cost).rule, whole)


def _by_cost(summed: RuleSum | SessionSum) -> tuple[int, int, int]:
    order = list(LABELS).index(summed.rule) if summed.rule in LABELS else len(LABELS)
    return -(summed.wasted.nano or 0), -summed.wasted.tokens, order
