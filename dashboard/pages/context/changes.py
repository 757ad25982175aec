"""The losses of a period by cause and by what changed in the requests. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.pages.context.params import ContextPageParams
from dashboard.pages.context.words import LABELS, css
from dashboard.shared.ledger.words import change_words
from dashboard.shared.ledger_sums.figures import PeriodLedger
from dashboard.shared.ledger_sums.rows import Loss


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change of one cause. `week` is its loss in seven days, in nano-dollars or tokens."""

    label: str
    css: str
    change: str  # in words, "" if it is unknown
    loss: Loss
    week: int | None
    href: str


def change_rows(ledger: PeriodLedger, params: ContextPageParams) -> list[ChangeRow]:
    """Return the rows, the largest loss first; each links to the sessions that lost by its cause."""
    found = [
        ChangeRow(
            LABELS[cause.verdict],
            css(cause.verdict),
            change_words(cause.verdict, change),
            loss,
            a_week(ledger, loss),
            params.but(cause=cause.verdict).query,
        )
        for cause in ledger.causes
        for change, loss in cause.changes
    ]
    return sorted(found, key=lambda row: row.loss.rank())


def a_week(ledger: PeriodLedger, loss: Loss) -> int | None:
    """Return a loss in a week: nano-dollars, None without a price; tokens where no loss has one."""
    if not ledger.is_loss_priced:
        return ledger.a_week(loss.tokens)
    return ledger.a_week(loss.nano) if loss.nano or not loss.tokens else None
