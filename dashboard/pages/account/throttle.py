"""Limits on sign-in attempts: per account and address, per account, and per address, each within a minute.

Passwords, passkeys and sign-ins with a provider count; codes of a second factor have a limit of their own. An
account is counted under the name that Django looks up, whatever was typed.
"""

from __future__ import annotations

import unicodedata

from django.http import HttpRequest

from dashboard.security.address import network_of
from dashboard.security.attempts import Attempts

TRIES = 5  # for one account from one address
ACCOUNT_TRIES = 20  # for one account from anywhere
ADDRESS_TRIES = 40  # from one address, for all accounts
CODES = 5  # second factors of one account from anywhere: it takes the password to try one
CODES_WINDOW_S = 300.0
NAME_CHARS = 150  # of Django's user names

attempts = Attempts("signin")
codes = Attempts("codes", window_s=CODES_WINDOW_S)


def tries_left(request: HttpRequest) -> bool:
    """Count an attempt to sign in with the name sent; return whether it is allowed."""
    return tries_left_of(request, request.POST.get("username", ""))


def tries_left_of(request: HttpRequest, name: str) -> bool:
    """Count an attempt on an account; return whether it is allowed."""
    account, address = account_of(name), network_of(request)
    # The address is counted first and alone decides, so one address cannot use up the count of an account.
    if attempts.count(("", address)) > ADDRESS_TRIES or attempts.count((account, address)) > TRIES:
        return False
    return attempts.count((account, "")) <= ACCOUNT_TRIES


def address_left(request: HttpRequest) -> bool:
    """Count an attempt that names no account; return whether it is allowed."""
    return attempts.count(("", network_of(request))) <= ADDRESS_TRIES


def code_left(user: int) -> bool:
    """Count a code, passkey or password that a known user gave as well; return whether it is allowed."""
    return codes.count((str(user), "")) <= CODES


def code_was_right(user: int) -> None:
    """Forget the count of a user who gave the right code."""
    codes.forget((str(user), ""))


def account_of(name: str) -> str:
    """Return the name that a typed one signs in with, as `UsernameField` reads it, regardless of case."""
    return unicodedata.normalize("NFKC", name.strip()).strip().casefold()[:NAME_CHARS]
