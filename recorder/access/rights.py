"""The rights of roles and of access tokens: the only table of who may do what.

Pages, sockets, the read API, the ingest endpoints and the tests read it. The roles are viewer, member and
admin in ascending order, and a role has every right of the roles below it. Superusers have all rights of an
admin in every project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from recorder.models import Membership

Role = Membership.Role
ASCENDING = Role.values  # viewer, member, admin
SCOPES = ("ingest", "read")  # scopes that a token may be given, in the order of their names in the database


class Right(StrEnum):
    """Something that takes a permission; the names are those of `docs/reference/roles.md`."""

    READ = "read"
    WRITE_NOTES = "write_notes"
    WRITE_OWN_VIEWS = "write_own_views"
    MAKE_SHARE_LINKS = "make_share_links"
    PIN_SESSIONS = "pin_sessions"
    DISMISS_INSIGHTS = "dismiss_insights"
    PLAY_DEMO = "play_demo"
    CHANGE_ALL_NOTES = "change_all_notes"
    WRITE_SHARED_VIEWS = "write_shared_views"
    MANAGE_SHARE_LINKS = "manage_share_links"
    MANAGE_TOKENS = "manage_tokens"
    MANAGE_MEMBERS = "manage_members"
    CHANGE_SETTINGS = "change_settings"
    SET_PRICES = "set_prices"
    CHANGE_RETENTION = "change_retention"
    DELETE_SESSIONS = "delete_sessions"
    CONSOLIDATE_INSIGHTS = "consolidate_insights"
    READ_AUDIT = "read_audit"
    MANAGE_PROJECT = "manage_project"
    INGEST = "ingest"


@dataclass(frozen=True, slots=True)
class Holders:
    """The holders of a right: the least role, None for no person, and the scopes of tokens."""

    role: Membership.Role | None
    scopes: frozenset[str] = frozenset()


RIGHTS: Mapping[Right, Holders] = {
    Right.READ: Holders(Role.VIEWER, frozenset({"read"})),
    Right.WRITE_NOTES: Holders(Role.MEMBER, frozenset({"ingest"})),
    Right.WRITE_OWN_VIEWS: Holders(Role.MEMBER),
    Right.MAKE_SHARE_LINKS: Holders(Role.MEMBER),
    Right.PIN_SESSIONS: Holders(Role.MEMBER),
    Right.DISMISS_INSIGHTS: Holders(Role.MEMBER),
    Right.PLAY_DEMO: Holders(Role.MEMBER),
    Right.CHANGE_ALL_NOTES: Holders(Role.ADMIN),
    Right.WRITE_SHARED_VIEWS: Holders(Role.ADMIN),
    Right.MANAGE_SHARE_LINKS: Holders(Role.ADMIN),
    Right.MANAGE_TOKENS: Holders(Role.ADMIN),
    Right.MANAGE_MEMBERS: Holders(Role.ADMIN),
    Right.CHANGE_SETTINGS: Holders(Role.ADMIN),
    Right.SET_PRICES: Holders(Role.ADMIN),
    Right.CHANGE_RETENTION: Holders(Role.ADMIN),
    Right.DELETE_SESSIONS: Holders(Role.ADMIN),
    Right.CONSOLIDATE_INSIGHTS: Holders(Role.ADMIN),
    Right.READ_AUDIT: Holders(Role.ADMIN),
    Right.MANAGE_PROJECT: Holders(Role.ADMIN),
    Right.INGEST: Holders(None, frozenset({"ingest"})),
}


# An archived project is read-only: of these rights only. Who may read it can still be changed.
WHEN_ARCHIVED = frozenset(
    (
        *(Right.READ, Right.READ_AUDIT, Right.MANAGE_PROJECT),
        *(Right.MANAGE_MEMBERS, Right.MANAGE_TOKENS, Right.MANAGE_SHARE_LINKS),
    )
)


def role_has(role: Membership.Role | None, right: Right) -> bool:
    """Return whether a role has a right; None is the role of someone who is not a member."""
    least = RIGHTS[right].role
    if role is None or least is None:
        return False
    return ASCENDING.index(role.value) >= ASCENDING.index(least.value)


def token_has(scopes: str, right: Right) -> bool:
    """Return whether a token has a right; `scopes` is the column of the token, separated by commas."""
    return not RIGHTS[right].scopes.isdisjoint(scopes.split(","))


def is_usable(right: Right, *, is_archived: bool) -> bool:
    """Return whether a right can be used in a project that is archived or not."""
    return not is_archived or right in WHEN_ARCHIVED


def least_role(right: Right) -> str:
    """Return the name of the least role that has a right, for messages; "" if no role has it."""
    role = RIGHTS[right].role
    return "" if role is None else role.label.lower()
