"""Access tokens, `lsk_<key>_<secret>`: credentials of programs. Only a hash of the secret is stored."""

import hashlib
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from recorder.access.rights import SCOPES, Right, is_usable, token_has
from recorder.database import sql
from recorder.database.errors import STORE_ERRORS
from recorder.models import AccessToken, Membership, Project

DEMO = "demo"
PREFIX = "lsk"
KEY_CHARS = 32
NO_HASH = "0" * 64  # equals no SHA-256 that occurs


# A token ends with the membership of the person who made it; one of the command line has no owner.
_MEMBERSHIPS = Membership.objects.filter(project=OuterRef("project"), user=OuterRef("created_by"))
_OF_MEMBERS = Q(created_by=None) | Q(created_by__is_active=True) & (
    Q(created_by__is_superuser=True) | Exists(_MEMBERSHIPS)
)
_LOOK_UP = """
    SELECT token.id, project_id, scopes, secret_hash, archived_at IS NOT NULL
    FROM recorder_accesstoken AS token JOIN recorder_project AS project ON project.id = token.project_id
    WHERE key = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %s)
    AND (created_by_id IS NULL OR EXISTS (
        SELECT 1 FROM auth_user AS maker WHERE maker.id = token.created_by_id AND maker.is_active
        AND (maker.is_superuser OR EXISTS (
            SELECT 1 FROM recorder_membership AS membership
            WHERE membership.project_id = token.project_id AND membership.user_id = maker.id))))"""


def issue(
    project: Project,
    name: str,
    scopes: Iterable[str],
    *,
    user: User | None = None,
    expires: datetime | None = None,
    is_demo: bool = False,
) -> str:
    """Create a token and return it; it cannot be shown again.

    `is_demo` adds the internal scope `demo`: events recorded with such a token are demo data.

    Raises:
        ValueError: `scopes` is empty or names an unknown scope.
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


def rotate(token: AccessToken, overlap: timedelta, *, user: User | None = None) -> str:
    """Create a token of the same name, scopes and expiry, and return it; the old one ends after `overlap`.

    Both work until then, so programs can be changed one by one.
    """
    now = timezone.now()
    scopes = [scope for scope in token.scopes.split(",") if scope in SCOPES]
    is_demo = DEMO in token.scopes.split(",")
    text = issue(token.project, token.name, scopes, user=user, expires=token.expires_at, is_demo=is_demo)
    token.expires_at = min(token.expires_at or now + overlap, now + overlap)
    token.replaced_by = AccessToken.objects.get(key=key_of(text))
    token.save(update_fields=["expires_at", "replaced_by"])
    return text


@dataclass(frozen=True, slots=True)
class ValidToken:
    """The columns of a valid token that the ingest endpoints need."""

    pk: int
    project: int
    scopes: str
    is_archived: bool = False  # the project


def find(bearer: str) -> AccessToken | None:
    """Return the token and its project; None if it is unknown, revoked or expired."""
    parts = _parts(bearer)
    if parts is None:
        return None
    key, secret = parts
    token = AccessToken.objects.select_related("project").filter(_OF_MEMBERS, key=key).first()
    is_right = _is_right(secret, token.secret_hash if token else NO_HASH)
    return token if token and is_right and _is_valid(token) else None


def look_up(bearer: str) -> ValidToken | None:
    """Validate a token as `find` does, with one plain SQL query: every ingest request calls this.

    About ten times cheaper than the ORM query of `find`.
    """
    parts = _parts(bearer)
    if parts is None:
        return None
    key, secret = parts
    found = sql.read(_LOOK_UP, key, sql.timestamp_encoder()(datetime.now(UTC)))
    pk, project, scopes, secret_hash, is_archived = found[0] if found else (0, 0, "", NO_HASH, False)
    return (
        ValidToken(pk, project, scopes, bool(is_archived)) if _is_right(secret, secret_hash) and pk else None
    )


def note_use(token: AccessToken, address: str) -> None:
    """Note when and from which address a token was used, at most once a minute. One query or none.

    While the store is busy nothing is noted: reading does not wait for writers.
    """
    now = timezone.now()
    latest = now - AccessToken.USED_WITHIN
    if token.last_used_at is not None and token.last_used_at >= latest:
        return
    rows = AccessToken.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=latest), pk=token.pk)
    with suppress(*STORE_ERRORS):
        rows.update(last_used_at=now, last_used_from=address)


def has_right(token: AccessToken | ValidToken, right: Right) -> bool:
    """Say whether a token has a right in its project, which may be archived."""
    return token_has(token.scopes, right) and is_usable(right, is_archived=is_archived(token))


def is_archived(token: AccessToken | ValidToken) -> bool:
    """Say whether the project of a token is archived."""
    return token.is_archived if isinstance(token, ValidToken) else token.project.archived_at is not None


def is_for_demo(token: AccessToken | ValidToken) -> bool:
    """Say whether events recorded with a token are demo data."""
    return DEMO in token.scopes.split(",")


def still_valid(rows: QuerySet[AccessToken]) -> QuerySet[AccessToken]:
    """Return the tokens among `rows` that are not revoked and not expired."""
    return rows.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)


def revoke(which: str, project: Project | None = None) -> int:
    """Revoke tokens by full token, key or name; return the number of revoked tokens."""
    return revocable(which, project).update(revoked_at=timezone.now())


def revocable(which: str, project: Project | None = None) -> QuerySet[AccessToken]:
    """Return the tokens that are not revoked by full token, key or name."""
    key = which.split("_")[1] if which.startswith(f"{PREFIX}_") else which
    live = AccessToken.objects.filter(Q(key=key) | Q(name=which), revoked_at=None)
    return live if project is None else live.filter(project=project)


def end_with_membership(sender: object, instance: Membership, **_: object) -> None:
    """Revoke the tokens that a removed member made for the project; receiver of `pre_delete`."""
    if not instance.user.is_superuser:
        live = AccessToken.objects.filter(
            project=instance.project_id, created_by=instance.user_id, revoked_at=None
        )
        live.update(revoked_at=timezone.now())


def end_with_user(sender: object, instance: User, **_: object) -> None:
    """Revoke all tokens of a deleted user, before they lose their maker; receiver of `pre_delete`."""
    AccessToken.objects.filter(created_by=instance.pk, revoked_at=None).update(revoked_at=timezone.now())


def bearer(authorization: str) -> str | None:
    """Return the token of an `Authorization: Bearer` header, None for any other header."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def key_of(bearer: str) -> str:
    """Return the public part of what was sent as a token, "" if it does not have the form of one."""
    parts = _parts(bearer)
    return parts[0] if parts is not None and len(parts[0]) <= KEY_CHARS else ""


def _parts(bearer: str) -> tuple[str, str] | None:
    """Split a token into key and secret; None if it does not have the form of a token."""
    prefix, _, rest = bearer.partition("_")
    key, _, secret = rest.partition("_")
    is_token = prefix == PREFIX and key.isalnum() and key.isascii() and bearer.isascii()
    return (key, secret) if is_token else None


def _is_right(secret: str, secret_hash: str) -> bool:
    """Compare in constant time; an unknown key compares with NO_HASH, so timing does not reveal it."""
    return secrets.compare_digest(secret_hash, _hash(secret))


def _is_valid(token: AccessToken) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > timezone.now())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
