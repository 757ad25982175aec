"""Everybody who asks: people of two projects, a stranger, and tokens of all kinds."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from recorder.access import tokens
from recorder.access.rights import Role, role_has, token_has
from recorder.models import AccessToken
from tests.dashboard.security.matrix.table import ANYONE, SIGNED_IN, SUPERUSER


@dataclass(frozen=True)
class Person:
    """A person or a token, with its rights in the first project."""

    name: str
    client: Client
    role: Role | None = None
    scopes: str | None = None  # None for a person; "" for a token that is not valid
    is_signed_in: bool = False

    def has(self, right):
        if right == ANYONE:
            return True
        if right == SIGNED_IN:
            return self.is_signed_in
        if right == SUPERUSER:
            return self.name == SUPERUSER
        if self.scopes is not None:
            return token_has(self.scopes, right)
        return role_has(self.role, right)


def people(first, second, owner, superuser):
    """Return everybody; `owner` is the name of the member who wrote the notes of the first project."""
    return [
        Person("anonymous", Client()),
        _member("stranger", None, None),
        _member("neighbour", second, Role.ADMIN, role_in_first=None),
        *(_member(role.value, first, role) for role in Role),
        _signed_in("owner", User.objects.get(username=owner), Role.MEMBER),
        _signed_in("superuser", superuser, Role.ADMIN),
        _token(first, "ingest token", "ingest"),
        _token(first, "read token", "read"),
        _token(first, "token of both", "ingest,read"),
        _token(first, "revoked token", "ingest,read", valid_scopes="", revoked_at=timezone.now()),
        _token(
            first, "expired token", "ingest,read", valid_scopes="", expires_at=timezone.now() - timedelta(1)
        ),
    ]


def _member(name, project, role, **more):
    user = User.objects.create_user(name)
    if project is not None:
        project.memberships.create(user=user, role=role)
    return _signed_in(name, user, more.get("role_in_first", role))


def _signed_in(name, user, role):
    client = Client()
    client.force_login(user)
    return Person(name, client, role, is_signed_in=True)


def _token(project, name, scopes, valid_scopes=None, **columns):
    token = tokens.issue(project, name, scopes.split(","))
    used_at = timezone.now() + timedelta(days=1)  # no later use is noted, so that a refusal changes no row
    AccessToken.objects.filter(key=tokens.key_of(token)).update(last_used_at=used_at, **columns)
    client = Client(headers={"authorization": f"Bearer {token}"})
    return Person(name, client, scopes=scopes if valid_scopes is None else valid_scopes)
