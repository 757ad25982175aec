"""One-time sign-in links: 256 bits, ten minutes, one use; only a hash of the secret is kept."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from recorder.models import SignInLink

LASTS = timedelta(minutes=10)


def issue(user: User) -> str:
    """Make a link for `user`; return its secret. Links that have run out are swept away."""
    now = timezone.now()
    secret = secrets.token_urlsafe(32)
    SignInLink.objects.filter(expires_at__lt=now).delete()
    SignInLink.objects.create(user=user, secret_hash=_hash(secret), expires_at=now + LASTS)
    return secret


def consume(secret: str) -> User | None:
    """Use a link up and return whose it is; None if it has run out, was used, or they may not enter."""
    now = timezone.now()
    links = SignInLink.objects.filter(secret_hash=_hash(secret))
    # One statement decides, so of two who press at once only one gets in.
    if not links.filter(used_at=None, expires_at__gt=now, user__is_active=True).update(used_at=now):
        return None
    return links.select_related("user").get().user


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
