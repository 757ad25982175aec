"""One-time sign-in links: a 256-bit secret, valid for ten minutes, usable once. Only its hash is stored."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from recorder.models import SignInLink

LIFETIME = timedelta(minutes=10)


def issue(user: User) -> str:
    """Create a link for `user` and return its secret. Expired links are deleted."""
    now = timezone.now()
    secret = secrets.token_urlsafe(32)
    SignInLink.objects.filter(expires_at__lt=now).delete()
    SignInLink.objects.create(user=user, secret_hash=_hash(secret), expires_at=now + LIFETIME)
    return secret


def consume(secret: str) -> User | None:
    """Consume a link and return its user; None if it expired, was used, or the user is inactive."""
    now = timezone.now()
    links = SignInLink.objects.filter(secret_hash=_hash(secret))
    # A single UPDATE decides, so two simultaneous requests cannot both consume the link.
    if not links.filter(used_at=None, expires_at__gt=now, user__is_active=True).update(used_at=now):
        return None
    return links.select_related("user").get().user


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
