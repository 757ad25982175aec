"""The store of second factors of django-allauth: keys of one-time codes are encrypted with the secret key."""

from __future__ import annotations

import base64
import logging
import secrets

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.crypto import salted_hmac

SALT = "loopscope.second-factor"

log = logging.getLogger(__name__)


class Factors(DefaultMFAAdapter):
    """Names and encrypts the factors of a user."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is wrong or was used before.",
    }

    def encrypt(self, text: str) -> str:
        """Return a secret as it is stored: a copy of the database alone gives no codes."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return a stored secret; a random one, which no code fits, if it has another secret key."""
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            log.warning("a second factor was stored with another LOOPSCOPE_SECRET_KEY: no code fits it")
            return base64.b32encode(secrets.token_bytes(20)).decode()

    def get_totp_label(self, user: User) -> str:
        """Return the name of the account in an authenticator app."""
        return user.get_username()


def _cipher() -> Fernet:
    key = salted_hmac(SALT, "", secret=settings.SECRET_KEY, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
