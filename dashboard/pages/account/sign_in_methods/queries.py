"""The second factors of users."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from allauth.socialaccount.models import SocialAccount
from django.db import transaction

TYPE = Authenticator.Type


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey of a user."""

    id: int
    name: str
    created_at: datetime
    used_at: datetime | None


@dataclass(slots=True)
class SignInMethods:
    """The sign-in methods of a user besides a password and a one-time link."""

    passkeys: list[Passkey] = field(default_factory=list)
    codes_since: datetime | None = None  # when one-time codes were switched on
    recovery_codes: int | None = None  # unused ones, None without any
    single_sign_on: bool = False


def sign_in_methods(user: int) -> SignInMethods:
    """Return the methods of a user. Two queries."""
    methods = SignInMethods(single_sign_on=SocialAccount.objects.filter(user_id=user).exists())
    for row in Authenticator.objects.filter(user_id=user).order_by("pk"):
        match row.type:
            case TYPE.WEBAUTHN:
                passkey = Passkey(row.pk, row.wrap().name, row.created_at, row.last_used_at)
                methods.passkeys.append(passkey)
            case TYPE.TOTP:
                methods.codes_since = row.created_at
            case TYPE.RECOVERY_CODES:
                methods.recovery_codes = len(row.wrap().get_unused_codes())
    return methods


@transaction.atomic
def spend(authenticator: int, code: str) -> bool:
    """Note that a one-time code was used; False if it, or a later one, was used before (RFC 6238, 5.2).

    django-allauth remembers used codes in the cache of one process; this holds for all processes.
    """
    row = Authenticator.objects.select_for_update().get(pk=authenticator)
    key = decrypt(row.data["secret"])
    typed = "".join(code.split())
    steps = [
        step for step in yield_hotp_counters_from_time() if format_hotp_value(hotp_value(key, step)) == typed
    ]
    newest = max(steps, default=-1)
    if newest <= row.data.get("last_step", -1):
        return False
    row.data["last_step"] = newest
    row.save(update_fields=["data"])
    return True


def spend_first(user: int, code: str) -> None:
    """Note that the code that switched one-time codes on was used."""
    spend(Authenticator.objects.get(user_id=user, type=TYPE.TOTP).pk, code)
