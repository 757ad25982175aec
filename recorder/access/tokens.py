"""Access tokens, `lsk_<key>_<secret>`: what machines sign in with. Only a hash of the secret is kept."""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from recorder.database import sql
from recorder.models import AccessToken, Project

SCOPES = ("ingest", "read")
DEMO = "demo"
PREFIX = "lsk"
NOBODY = "0" * 64


def issue(
    project: Project,
    name: str,
    scopes: Iterable[str],
    *,
    user: User | None = None,
    expires: datetime | None = None,
    is_demo: bool = False,
) -> str:
    """Make a token and return it; it cannot be shown again. Raises ValueError for an unknown scope.

    What comes in with a demo token is demo data. That is a scope of its own, which nobody asks for by name.
    """
    wanted = [scope.strip() for scope in scopes if scope.strip()]
    unknown = sorted(set(wanted) - set(SCOPES))
    if unknown or not wanted:
        raise ValueError(f"scopes are {' and '.join(SCOPES)}, not {', '.join(unknown) or 'none'}")
    key, secret = secrets.token_hex(8), secrets.token_hex(32)
    AccessToken.objects.create(
        project=project,
        name=name,
        key=key,
        secret_hash=_hash(secret),
        scopes=",".join([*(scope for scope in SCOPES if scope in wanted), *([DEMO] if is_demo else [])]),
        created_by=user,
        expires_at=expires,
    )
    return f"{PREFIX}_{key}_{secret}"


@dataclass(frozen=True, slots=True)
class Known:
    """A good token, as the doors for events need to know it."""

    pk: int
    project: int
    scopes: str


def find(bearer: str) -> AccessToken | None:
    """Return the token that `bearer` is, with its project, if it is neither revoked nor expired."""
    parts = _parts(bearer)
    if parts is None:
        return None
    key, secret = parts
    token = AccessToken.objects.select_related("project").filter(key=key).first()
    is_right = _is_right(secret, token.secret_hash if token else NOBODY)
    return token if token and is_right and _is_valid(token) else None


def look_up(bearer: str) -> Known | None:
    """Do as `find`, at a tenth of the price: every request with events asks."""
    parts = _parts(bearer)
    if parts is None:
        return None
    key, secret = parts
    found = sql.read(
        """SELECT id, project_id, scopes, secret_hash FROM recorder_accesstoken
           WHERE key = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %s)""",
        *(key, sql.timestamp_encoder()(datetime.now(UTC))),
    )
    pk, project, scopes, secret_hash = found[0] if found else (0, 0, "", NOBODY)
    return Known(pk, project, scopes) if _is_right(secret, secret_hash) and pk else None


def allows(token: AccessToken | Known, scope: str) -> bool:
    return scope in token.scopes.split(",")


def revoke(which: str, project: Project | None = None) -> int:
    """Revoke tokens by the token itself, its key or its name; return how many were."""
    key = which.split("_")[1] if which.startswith(f"{PREFIX}_") else which
    live = AccessToken.objects.filter(Q(key=key) | Q(name=which), revoked_at=None)
    if project is not None:
        live = live.filter(project=project)
    return live.update(revoked_at=timezone.now())


def bearer(authorization: str) -> str | None:
    """Return the token in an Authorization header, None if it holds no bearer token."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _parts(bearer: str) -> tuple[str, str] | None:
    """Return the key and the secret of a token, None if it is none."""
    prefix, _, rest = bearer.partition("_")
    key, _, secret = rest.partition("_")
    is_token = prefix == PREFIX and key.isalnum() and key.isascii() and bearer.isascii()
    return (key, secret) if is_token else None


def _is_right(secret: str, secret_hash: str) -> bool:
    """Compare, even with nobody's hash when there is no such key, so that the time taken does not tell."""
    return secrets.compare_digest(secret_hash, _hash(secret))


def _is_valid(token: AccessToken) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > timezone.now())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
