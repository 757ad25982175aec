"""The dearest requests as rows: each with its cause in words, and the link to its turn. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.pages.context.words import LABELS, css
from dashboard.shared.ledger_sums.queries.requests import DearRequest, DearRequests
from dashboard.web import links

PARTS = {
    "read": "Read from the cache",
    "write": "Written to the cache",
    "uncached": "Input without cache",
    "output": "Output",
    "": "",
}


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request. `cause` is why its cache was missed, else what most of its money was for."""

    request: DearRequest
    cause: str
    css: str  # "" without a miss
    href: str


def request_rows(slug: str, dear: DearRequests) -> list[RequestRow]:
    """Return the rows, the dearest first."""
    return [_row(slug, request) for request in dear.rows]


def _row(slug: str, request: DearRequest) -> RequestRow:
    loop = links.loop(slug, request.session, request.loop, turn=request.number)
    href = f"{loop}#turn-{request.number}"
    if request.lost_nano and request.verdict in LABELS:
        return RequestRow(request, LABELS[request.verdict], css(request.verdict), href)
    return RequestRow(request, PARTS[request.main_part], "", href)
