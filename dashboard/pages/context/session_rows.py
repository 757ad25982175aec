"""The sessions of the page with names and states: those that lost most, and those with much waste. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.pages.context.words import LABELS, css
from dashboard.shared.ledger_sums.queries.sums import SessionLoss
from dashboard.shared.session_state import state_of_session
from dashboard.shared.waste.queries.sums import SessionSum
from dashboard.web import links
from recorder.models import Session


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session that lost most."""

    loss: SessionLoss
    title: str
    agent: str
    state: str
    href: str

    @property
    def cause(self) -> str:
        return LABELS.get(self.loss.verdict, "")

    @property
    def css(self) -> str:
        return css(self.loss.verdict)


@dataclass(frozen=True, slots=True)
class WastefulSession:
    """A session with much waste."""

    sum: SessionSum
    title: str
    agent: str
    state: str
    href: str


def session_rows(
    slug: str, losses: Sequence[SessionLoss], sessions: Mapping[int, Session]
) -> list[SessionRow]:
    """Return the sessions of losses, in their order."""
    return [
        SessionRow(
            loss,
            session.title or session.session_id,
            session.agent_id,
            state_of_session(session),
            f"{links.session(slug, session.pk)}?tab=context",
        )
        for loss in losses
        if (session := sessions.get(loss.session))
    ]


def wasteful_sessions(
    slug: str, sums: Sequence[SessionSum], sessions: Mapping[int, Session]
) -> list[WastefulSession]:
    """Return the sessions of sums with their names and states, in their order."""
    return [
        WastefulSession(
            each,
            session.title or session.session_id,
            session.agent_id,
            state_of_session(session),
            f"{links.session(slug, session.pk)}?tab=context#waste",
        )
        for each in sums
        if (session := sessions.get(each.session))
    ]
