"""Response schemas of What if. Money is exact decimal text in dollars."""

from __future__ import annotations

from pydantic import BaseModel

from dashboard.shared.what_if.desk import Kind, Label, State


class WhatIfReason(BaseModel):
    """The certainty of a figure: exact, bounded or assumed."""

    label: Label
    sentence: str


class WhatIfFigure(BaseModel):
    """One figure beside the recorded cost of the same calls; `low_usd` and `high_usd` contain `cost_usd`.

    `tokens` and `times_called` are of definitions, else null.
    """

    figure: Kind
    name: str | None
    calls: int
    changed_calls: int
    tokens: int | None
    times_called: int | None
    recorded_usd: str
    cost_usd: str
    low_usd: str
    high_usd: str
    difference_usd: str
    reasons: list[WhatIfReason]


class WhatIfItem(BaseModel):
    """All figures of a session or period, and the calls that are in none.

    `without_price` are models that were asked for and have no price. `has_ledger` is false while definitions
    and gaps of these calls are not known.
    """

    state: State
    figures: list[WhatIfFigure]
    calls: int
    reported_calls: int
    unpriced_calls: int
    unreconciled_calls: int
    left_out_usd: str
    has_ledger: bool
    without_price: list[str]
