"""One-time sign-in links: a 256-bit secret, valid for ten minutes, usable once. Only its hash is stored."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.utils import timezone

from recorder.models import SignInLink

LIFETIME = timedelta(minutes=10)

# A subquery instead of a join, with which Django would write `id IN (SELECT …)`: PostgreSQL does not check
# that again after waiting for a concurrent UPDATE of the row.
_ACTIVE = User.objects.filter(pk=OuterRef("user"), is_active=True)


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
    if not links.filter(Exists(_ACTIVE), used_at=None, expires_at__gt=now).update(used_at=now):
        return None
    return links.select_related("user").get().user


def withdraw(user: User) -> None:
    """Delete the unused links of a user."""
    SignInLink.objects.filter(user=user, used_at=None).delete()


def withdraw_all() -> None:
    """Delete the unused links of all users: a superuser may have made them, and is one no longer."""
    SignInLink.objects.filter(used_at=None).delete()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
