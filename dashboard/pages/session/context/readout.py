"""The figures of one call beside the film, and those of all calls for the script that moves through them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.pages.session.context.film import Film
from dashboard.pages.session.context.queries import Reading
from dashboard.pages.session.context.words import VERDICTS
from dashboard.rendering.number_format import NONE, exact, money, plural
from dashboard.shared.ledger.queries.session_ledger import CallRow
from dashboard.web import links


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the readout; `css` is that of its series, `url` leads to its blocks."""

    name: str
    value: str
    css: str = ""
    url: str = ""
    is_sum: bool = False
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Readout:
    """The chosen call."""

    number: int
    count: int
    words: str  # of its verdict
    figures: Sequence[Figure]
    place: str  # agent and loop, if the scope has several
    url: str  # of the turn in the conversation
    previous: str
    next: str

    @property
    def spoken(self) -> str:
        """Return what a screen reader says."""
        sent = next(figure.value for figure in self.figures if figure.name == "Sent")
        return f"Turn {self.number}, {sent} tokens, {self.words}"


def readout(reading: Reading, film: Film) -> Readout:
    """Return the readout of the chosen call."""
    calls, index = reading.ledger.calls, film.first + film.chosen
    call = calls[index]
    parts = [
        Figure(
            series.name.capitalize() if series.kind else series.name,
            exact(series.values[film.chosen]),
            series.css,
            reading.url(kind=series.kind, q=series.q, call="") + "#ledger" if series.kind or series.q else "",
        )
        for series in reversed(film.series)
    ]
    totals = [
        Figure(
            name,
            exact(value) if isinstance(value, int) else value,
            is_sum=name in ("Sent", "Turn"),
            is_lost=name == "Paid again" and value != 0,
        )
        for name, value in zip(TOTALS, _totals(call), strict=True)
    ]
    near = [calls[n] if 0 <= n < len(calls) else None for n in (index - 1, index + 1)]
    previous, following = (reading.url(turn=reading.number(other)) if other else "" for other in near)
    return Readout(
        number=reading.number(call),
        count=len(calls),
        words=_words(call),
        figures=[*parts, *totals],
        place=_place(reading, call),
        url=_turn_url(reading, call),
        previous=previous,
        next=following,
    )


TOTALS = (
    "Sent",
    "Read from cache",
    "Written to cache",
    "Uncached",
    "Paid again",
    "Context",
    "Output",
    "Not divided",
    "Turn",
)


def _totals(call: CallRow) -> list[int | str]:
    """Return the values of `TOTALS`: tokens, then money."""
    sent = call.prompt if call.prompt is not None else "not reported"
    output = f"{price(call.output_nano)}, {plural(call.output_tokens, 'token')}"
    undivided = money(call.undivided_nano) if call.undivided_nano else NONE
    return [
        sent,
        *(call.cache_read, call.cache_write, call.uncached, call.lost_tokens),
        price(call.context_nano),
        output,
        undivided,
        price(call.cost_nano),
    ]


def price(nano: int | None) -> str:
    """Format what a call cost; without a price say so."""
    return "no price" if nano is None else money(nano)


def figures_of_all(reading: Reading, film: Film) -> str:
    """Return the figures of all calls of the film: a line of JSON, then one a call with fields between "|".

    The JSON has the loops, [url, name], and the words of verdicts. A call has its number, the places of its
    loop and its words in these lists, its turn in the loop, the tokens of each series from the top, and what
    `_totals` returns. No field has text of an agent; JSON for each call would be twice as long in HTML.
    """
    loops = list(dict.fromkeys(call.loop for call in film.calls))
    words = list(dict.fromkeys(_words(call) for call in film.calls))
    of_loop, of_words = ({key: n for n, key in enumerate(keys)} for keys in (loops, words))
    series = [band.values for band in reversed(film.series)]
    agents = {call.loop: call for call in film.calls}
    slug, session = reading.session.project.slug, reading.session.pk
    about = {
        "loops": [[links.loop(slug, session, loop), _place(reading, agents[loop])] for loop in loops],
        "words": words,
    }
    rows = (
        (
            *(reading.number(call), of_loop[call.loop], of_words[_words(call)], call.ordinal + 1),
            *(values[n] for values in series),
            *_totals(call),
        )
        for n, call in enumerate(film.calls)
    )
    return "\n".join([json.dumps(about, separators=(",", ":")), *("|".join(map(str, row)) for row in rows)])


def _words(call: CallRow) -> str:
    words = VERDICTS.get(call.verdict, call.verdict)
    return words if call.is_recorded else f"{words}, request not recorded"


def _place(reading: Reading, call: CallRow) -> str:
    if len(reading.loops) < 2 or reading.params.scope:
        return ""
    return _loop_name(reading, call.loop, call.agent_id)


def _loop_name(reading: Reading, loop: int, agent: str) -> str:
    return f"loop {reading.loops.get(loop, 0)}{f', {agent}' if agent else ''}"


def _turn_url(reading: Reading, call: CallRow) -> str:
    return links.loop(reading.session.project.slug, reading.session.pk, call.loop, turn=call.ordinal + 1) + (
        f"#turn-{call.ordinal + 1}"
    )
