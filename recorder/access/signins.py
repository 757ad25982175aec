"""The browsers in which users are signed in: listed, ended one by one or all, with the sessions of Django."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib.sessions.models import Session as BrowserSession
from django.utils import timezone

from recorder.core.content.text import clean
from recorder.models import SignIn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.contrib.auth.models import User
    from django.db.models import QuerySet

SEEN_EVERY = timedelta(minutes=5)
ADDRESS_CHARS, AGENT_CHARS = 64, 300


def begin(user: User, session_key: str, address: str, agent: str) -> None:
    """Note that a user signed in; entries whose session has ended are deleted."""
    now = timezone.now()
    gone = SignIn.objects.filter(user=user).exclude(session_key__in=_open_keys())
    gone.delete()
    SignIn.objects.update_or_create(
        session_key=session_key,
        defaults={
            "user": user,
            "address": address[:ADDRESS_CHARS],
            "agent": clean(agent, AGENT_CHARS),
            "began_at": now,
            "seen_at": now,
        },
    )


def note_use(session_key: str) -> None:
    """Note a request, at most once in five minutes. One query."""
    now = timezone.now()
    SignIn.objects.filter(session_key=session_key, seen_at__lt=now - SEEN_EVERY).update(seen_at=now)


def of_user(user: User) -> Sequence[SignIn]:
    """Return the open sign-ins of a user, the one used last first."""
    found = SignIn.objects.filter(user=user, session_key__in=_open_keys())
    return list(found.order_by("-seen_at", "-pk"))


def end(user: User, pk: int) -> bool:
    """End one sign-in of a user; False if there is none."""
    found = SignIn.objects.filter(user=user, pk=pk)
    return _end(found) > 0


def end_all(user: User, but: str = "") -> int:
    """End all sign-ins of a user but that of one session key; return their number."""
    return _end(SignIn.objects.filter(user=user).exclude(session_key=but))


def _end(found: QuerySet[SignIn]) -> int:
    keys = list(found.values_list("session_key", flat=True))
    BrowserSession.objects.filter(session_key__in=keys).delete()
    found.delete()
    return len(keys)


def _open_keys() -> QuerySet[BrowserSession, str]:
    return BrowserSession.objects.filter(expire_date__gt=timezone.now()).values_list("session_key", flat=True)
