"""The cache misses of a scope, and one of them opened to its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.pages.session.context.queries import Reading
from dashboard.pages.session.context.words import AGREEMENT, EXPLAINED, HINTS, ICONS, VERDICTS
from dashboard.rendering.number_format import NONE, duration, exact, money, percent
from dashboard.shared.ledger.queries.difference import difference_of_call
from dashboard.shared.ledger.queries.session_ledger import CallRow
from dashboard.shared.ledger.words import change_words
from dashboard.web import links
from recorder.core.ledger.changes import MARK
from recorder.core.ledger.costs import UNITS
from recorder.core.ledger.difference import Difference
from recorder.core.ledger.reasons import agrees
from recorder.ledger import costs

MOST = 50


@dataclass(frozen=True, slots=True)
class Miss:
    """One line of the list."""

    number: int
    verdict: str
    icon: str
    lost: str
    about: str
    url: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Term:
    """One product of the multiplication: tokens, and the two prices in dollars per million tokens."""

    tokens: str
    paid: str
    bucket: str
    read: str


@dataclass(frozen=True, slots=True)
class Autopsy:
    """One miss with its evidence."""

    number: int
    before: int | None  # None if the call before is in another scope
    lost: str
    why: str
    difference: Difference | None
    expected: int | None
    reported: int
    terms: Sequence[Term]
    share: str  # of the cost of the scope
    lost_tokens: int
    idle: str
    life: str
    reason: str  # the provider's own
    agreement: str  # whether that says the same
    hint: str
    url: str

    @property
    def reported_share(self) -> float:
        return round(100 * min(1, self.reported / self.expected), 1) if self.expected else 0


@dataclass(frozen=True, slots=True)
class Misses:
    """The list of misses, the dearest first, and the one that is open."""

    shown: Sequence[Miss]
    more: int
    count: int  # of those that lost tokens
    harmless: int  # of those that lost none
    first_calls: int
    appended: int
    autopsy: Autopsy | None


def misses(reading: Reading) -> Misses:
    """Return the misses of a scope. Six queries at most, those for the one that is open."""
    calls, missed_calls = reading.ledger.calls, reading.ledger.misses
    chosen = calls[reading.chosen]
    opened = chosen if chosen.is_miss else (missed_calls[0] if missed_calls else None)
    verdicts = [call.verdict for call in calls]
    lost = sum(call.lost_tokens > 0 for call in missed_calls)
    return Misses(
        [_miss(reading, call, opened) for call in missed_calls[:MOST]],
        max(0, len(missed_calls) - MOST),
        lost,
        len(missed_calls) - lost,
        verdicts.count("first_call"),
        verdicts.count("append_only"),
        _autopsy(reading, opened) if opened else None,
    )


def _miss(reading: Reading, call: CallRow, opened: CallRow | None) -> Miss:
    about = f"{exact(call.lost_tokens)} tokens paid again"
    if call.lost_tokens and call.expected_read:
        about += f", {percent(call.cache_read / call.expected_read)} of the cache was read"
    if call.verdict in ("ttl_lapsed", "undecided"):
        about += f", idle {duration(round(call.idle_s * 1000))}"
    if not call.lost_tokens:
        about = "no tokens lost"
    number = reading.number(call)
    return Miss(
        number,
        VERDICTS[call.verdict],
        ICONS[call.verdict],
        money(call.lost_nano) if call.lost_nano else NONE,
        about,
        reading.url(turn=number) + "#misses",
        call is opened,
    )


def _autopsy(reading: Reading, call: CallRow) -> Autopsy:
    earlier = [
        other for other in reading.ledger.calls if other.chain == call.chain and other.number < call.number
    ]
    total = reading.ledger.cost_nano
    terms = _terms(call)
    return Autopsy(
        number=reading.number(call),
        before=reading.number(earlier[-1]) if earlier else None,
        lost=money(call.lost_nano) if call.lost_nano else "",
        why=_why(reading, call),
        difference=difference_of_call(call.turn),
        expected=call.expected_read,
        reported=call.cache_read,
        terms=terms,
        share=percent((call.lost_nano or 0) / total) if total and call.lost_nano else "",
        lost_tokens=call.lost_tokens,
        idle=duration(round(call.idle_s * 1000)),
        life=duration(call.life_s * 1000) if call.life_s else "",
        reason=call.reason,
        agreement=AGREEMENT[agrees(call.verdict, call.reason)],
        hint=HINTS.get(call.verdict, ""),
        url=links.loop(reading.session.project.slug, reading.session.pk, call.loop, turn=call.ordinal + 1)
        + f"#turn-{call.ordinal + 1}",
    )


def _why(reading: Reading, call: CallRow) -> str:
    """Return the cause in words, with what changed where the ledger noted it."""
    change = next(
        (
            change_words(call.verdict, block.detail.removeprefix(MARK))
            for block in reading.ledger.blocks
            if block.chain == call.chain and block.first == call.number and block.detail.startswith(MARK)
        ),
        "",
    )
    return f"{EXPLAINED[call.verdict]} ({change})" if change else EXPLAINED[call.verdict]


def _terms(call: CallRow) -> list[Term]:
    """Return what the lost money is the sum of: tokens that were written or sent anew instead of read."""
    divided = costs.of_turns([call.turn])[call.turn].divided
    if divided is None or not call.lost_nano:
        return []
    bands = divided.bands
    end = bands.read_upto + call.lost_tokens
    written = min(end, bands.write_upto) - bands.read_upto
    sent = end - max(bands.write_upto, bands.read_upto)
    return [
        Term(exact(count), _per_million(rate), bucket, _per_million(bands.read))
        for count, rate, bucket in (
            (written, bands.write, "cache write"),
            (sent, bands.uncached, "uncached input"),
        )
        if count > 0
    ]


def _per_million(units: int) -> str:
    """Format the units of a token as dollars per million tokens: $3.75."""
    return (
        f"${units / UNITS / 1_000:,.4f}".rstrip("0").rstrip(".")
        if units % (UNITS * 10)
        else (f"${units / UNITS / 1_000:,.2f}")
    )
