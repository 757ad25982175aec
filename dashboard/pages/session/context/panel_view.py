"""The content of the panel of the tab Context."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.urls import reverse

from dashboard.live.cached_value import ProcessCache
from dashboard.pages.session.context.block_rows import BlockRows, block_rows, usd
from dashboard.pages.session.context.film import MOST, Film, film
from dashboard.pages.session.context.misses import Misses, misses
from dashboard.pages.session.context.queries import CACHED_MOST, CACHED_S, Reading, read, sessions, size
from dashboard.pages.session.context.readout import Readout, figures_of_all, price, readout
from dashboard.pages.session.context.summary import Summary, summary
from dashboard.pages.session.context.words import KINDS, VERDICTS
from dashboard.pages.session.context_filters import ALL_RESULTS, GROUPINGS, ContextParams
from dashboard.rendering.number_format import money
from dashboard.shared.ledger.queries.session_ledger import CallRow
from dashboard.shared.waste.findings import Findings, findings
from dashboard.web import links
from recorder.models import Session

TABLE = 50  # rows of the film as a table, around the chosen call
LOOPS = 4  # loops that have a button each
LOOPS_MAX = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """A link of a switch."""

    name: str
    url: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class TableRow:
    """One call of the film as a table."""

    number: int
    url: str
    place: str
    verdict: str
    values: Sequence[int]
    cost: str
    call: CallRow


@dataclass(frozen=True, slots=True)
class ContextView:
    """Root of the panel session/context/context. The film is None before the first call."""

    reading: Reading
    scopes: Sequence[Choice]
    more_scopes: Sequence[Choice]
    groupings: Sequence[Choice]
    kinds: Sequence[Choice]
    csv_url: str
    loops_left_out: int = 0  # loops that have no link
    film: Film | None = None
    summary: Summary | None = None
    readout: Readout | None = None
    figures: str = ""
    table: Sequence[TableRow] = ()
    misses: Misses | None = None
    ledger: BlockRows | None = None
    derived: int = 0
    waste: Findings | None = None

    @property
    def pending(self) -> int:
        return self.reading.pending

    @property
    def sums(self) -> Mapping[str, tuple[str, str]]:
        """Return the totals as money and as exact dollars."""
        ledger = self.reading.ledger
        nano = {
            "context": ledger.context_nano,
            "output": ledger.output_nano,
            "undivided": ledger.undivided_nano,
            "cost": ledger.cost_nano,
        }
        return {name: (money(value), usd(value)) for name, value in nano.items()}

    @property
    def skipped_usd(self) -> str:
        return usd(self.reading.ledger.skipped_nano)

    @property
    def output_tokens(self) -> int:
        return sum(call.output_tokens for call in self.reading.ledger.calls)

    @property
    def left_out(self) -> int:
        """Return how many calls of the scope are outside of the film."""
        return max(0, len(self.reading.ledger.calls) - MOST)

    @property
    def flame_url(self) -> str:
        session = self.reading.session
        at = links.as_of_event()
        return links.flame(session.project.slug, session.pk, at="" if at is None else at)

    @property
    def whole_url(self) -> str:
        return self.reading.url(rows="all") + "#ledger"

    @property
    def cleared_url(self) -> str:
        return self.reading.url(q="", kind="", call="") + "#ledger"

    @property
    def form_url(self) -> str:
        return self.reading.url().partition("?")[0]

    @property
    def form_fields(self) -> Mapping[str, str | int]:
        """Return the parameters that the form of the filter keeps."""
        kept = {**self.reading.params.pairs(q="", call="")}
        at = links.as_of_event()
        return kept | ({"at": at} if at is not None else {})


@dataclass(frozen=True, slots=True)
class Contexts:
    """The query of the panel for pages of a loop with these parameters."""

    loop: int
    params: ContextParams
    reading: Reading | None = field(default=None, compare=False)  # of the only session, if it was read

    def __call__(self, pks: Collection[int]) -> Mapping[int, ContextView]:
        """Return what the panel shows. Twenty-five queries at most for a session."""
        return {session.pk: self._cached_view(session) for session in sessions(pks)}

    def _cached_view(self, session: Session) -> ContextView:
        key = (session.pk, session.status, links.as_of_event(), self.loop, self.params)
        return VIEWS.get(
            session.project_id, key, lambda: _view(self.reading or read(session, self.loop, self.params))
        )


def _size(view: ContextView) -> int:
    """Return the number of calls and blocks; too many to keep while calls are being added."""
    return CACHED_MOST + 1 if view.pending else size(view.reading.ledger)


VIEWS = ProcessCache[ContextView](_size, most=CACHED_MOST, seconds=CACHED_S)


def with_chosen_turn(session: Session, loop: int, params: ContextParams) -> Contexts:
    """Return the query of a page with the chosen turn in its parameters, so that it stays while others end.

    What is read for that is not read again for the first drawing.
    """
    reading = read(session, loop, params)
    calls = reading.ledger.calls
    if calls:
        reading = replace(reading, params=replace(params, turn=reading.number(calls[reading.chosen])))
    return Contexts(loop, reading.params, reading)


def _view(reading: Reading) -> ContextView:
    params = reading.params
    loops = [
        (loop, f"Loop {n}") for loop, n in reading.loops.items() if n <= LOOPS_MAX or loop == params.scope
    ]
    scopes = [(0, "Session"), *loops] if len(loops) > 1 or params.scope else []
    choices = [
        Choice(name, reading.url(scope=loop or "", turn=""), loop == params.scope) for loop, name in scopes
    ]
    visible = [choice for n, choice in enumerate(choices) if n <= LOOPS or choice.is_chosen]
    view = ContextView(
        reading,
        visible,
        [choice for choice in choices if choice not in visible],
        [
            Choice(f"By {by}", reading.url(by="" if by == "kind" else by) + "#film", by == params.by)
            for by in GROUPINGS
        ],
        [
            Choice(name, reading.url(kind=kind, call="") + "#ledger", kind == params.kind)
            for kind, name in (("", "All kinds"), (ALL_RESULTS, "All results"), *KINDS.items())
        ],
        _csv_url(reading),
        loops_left_out=len(reading.loops) - len(loops),
        waste=findings(reading.session.project.slug, reading.session.pk, params.scope),
    )
    return _with_calls(view) if reading.ledger.calls else view


def _with_calls(view: ContextView) -> ContextView:
    reading = view.reading
    laid = film(reading, reading.chosen)
    return replace(
        view,
        film=laid,
        summary=summary(reading),
        readout=readout(reading, laid),
        figures=figures_of_all(reading, laid),
        table=_table(reading, laid),
        misses=misses(reading),
        ledger=block_rows(reading),
        derived=sum(not call.is_recorded for call in reading.ledger.calls),
    )


def _table(reading: Reading, laid: Film) -> list[TableRow]:
    first = max(0, min(laid.chosen - TABLE // 2, len(laid.calls) - TABLE))
    return [
        TableRow(
            reading.number(call),
            reading.url(turn=reading.number(call)) + "#film",
            f"loop {reading.loops.get(call.loop, 0)}"
            if len(reading.loops) > 1 and not reading.params.scope
            else "",
            VERDICTS.get(call.verdict, call.verdict),
            [series.values[n] for series in laid.series],
            price(call.cost_nano),
            call,
        )
        for n, call in list(enumerate(laid.calls))[first : first + TABLE]
    ]


def _csv_url(reading: Reading) -> str:
    path = reverse("session-context-csv", args=[reading.session.project.slug, reading.session.pk])
    at = links.as_of_event()
    query = f"scope={reading.params.scope}" if reading.params.scope else ""
    query += f"{'&' if query else ''}at={at}" if at is not None else ""
    return f"{path}?{query}" if query else path
