"""Users of the installation: created by commands, invites and superusers; deactivated, never deleted.

A user who is switched off is signed out everywhere and has no valid token, but notes keep their author. The
unused sign-in links of all users end with the rights of a superuser, who may have made them.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from recorder.access import profiles, signin_links, signins
from recorder.core.records import Json
from recorder.database import sql
from recorder.operations import audit
from recorder.operations.audit import Actor
from recorder.operations.people.errors import Refused
from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation

NAME_CHARS = 150


def create(
    name: str,
    actor: Actor,
    *,
    email: str = "",
    password: str | None = None,
    is_superuser: bool = False,
    pk: int | None = None,
) -> User:
    """Create a user. Raises Refused: the name is taken or invalid, or the e-mail address is invalid.

    Names that differ in case only are the same name. Without a password a sign-in link is the way in, or a
    passkey that was made for the primary key `pk` (`reserve_key`).
    """
    name = check_new(name, email)
    user = User(pk=pk, username=name, email=User.objects.normalize_email(email))
    user.is_superuser = user.is_staff = is_superuser
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)  # with a key Django would update the row of another user
            audit.record(None, actor, "user.create", name, after="superuser" if is_superuser else None)
    except IntegrityError:
        raise Refused(f"There is a user {name} already, or one was made at this moment.") from None
    return user


def check_new(name: str, email: str) -> str:
    """Return the name as a new user would have it. Raises Refused as `create` does."""
    name = User.normalize_username(name.strip())
    _check(name, email)
    if User.objects.filter(username__iexact=name).exists():
        raise Refused(f"There is a user {name} already.")
    return name


def reserve_key() -> int:
    """Return a primary key for a user to be. On SQLite another user may get it, so that `create` refuses."""
    return next(sql.next_ids({"auth_user": 1})["auth_user"])


def set_active(user: User, actor: Actor, *, is_active: bool) -> None:
    """Switch a user off or on again. Raises Refused for the last superuser."""
    if user.is_active == is_active:
        return
    if not is_active and user.is_superuser:
        _require_another(user)
    user.is_active = is_active
    with transaction.atomic():
        user.save(update_fields=["is_active"])
        audit.record(None, actor, "user.enable" if is_active else "user.disable", user.get_username())
        if not is_active:
            signins.end_all(user)
            _end_links(user)


def set_superuser(user: User, actor: Actor, *, is_superuser: bool) -> None:
    """Make a user a superuser or not. Raises Refused for the last one."""
    if user.is_superuser == is_superuser:
        return
    if not is_superuser:
        _require_another(user)
    before, user.is_superuser = user.is_superuser, is_superuser
    user.is_staff = is_superuser
    with transaction.atomic():
        user.save(update_fields=["is_superuser", "is_staff"])
        if not is_superuser:
            signin_links.withdraw_all()
        name = user.get_username()
        audit.record(None, actor, "user.superuser", name, before=before, after=is_superuser)


def make_link(user: User, actor: Actor) -> str:
    """Make a one-time sign-in link and return its secret. Raises Refused for a user who is switched off."""
    if not user.is_active:
        raise Refused("The user is disabled.")
    with transaction.atomic():
        secret = signin_links.issue(user)
        audit.record(None, actor, "signin.link", user.get_username())
    return secret


def change_profile(user: User, actor: Actor, *, full_name: str, email: str, time_zone: str) -> None:
    """Change shown name, e-mail address and time zone. Raises Refused if one is invalid."""
    _check(user.get_username(), email)
    if time_zone and time_zone not in profiles.time_zones():
        raise Refused("There is no such time zone.")
    before = user.first_name, user.last_name, user.email, profiles.time_zone(user)
    if before == (full_name[:NAME_CHARS], "", email, time_zone):
        return
    described = _described(user)
    user.first_name, user.last_name, user.email = full_name[:NAME_CHARS], "", email
    with transaction.atomic():
        user.save(update_fields=["first_name", "last_name", "email"])
        profiles.set_time_zone(user, time_zone)
        name, after = user.get_username(), _described(user)
        audit.record(None, actor, "profile.change", name, before=described, after=after)


def set_password(user: User, actor: Actor, password: str) -> None:
    """Set a password that the validators have accepted, and end all sign-ins of the user."""
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        audit.record(None, actor, "password.change", user.get_username())
        signins.end_all(user)
        signin_links.withdraw(user)


def publish(project: int, *users: User) -> None:
    """Redraw what these users see of a project."""
    touched = Invalidation(project, people={user.pk for user in users})
    transaction.on_commit(lambda: invalidation.publish(touched))


def _end_links(user: User) -> None:
    """End the sign-in links of a user, and those of others that the user may have made as a superuser."""
    if user.is_superuser:
        signin_links.withdraw_all()
    else:
        signin_links.withdraw(user)


def _described(user: User) -> dict[str, Json]:
    return {"name": user.get_full_name(), "email": user.email, "time_zone": profiles.time_zone(user)}


def _check(name: str, email: str) -> None:
    try:
        UnicodeUsernameValidator()(name)
        if email:
            validate_email(email)
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from None
    if not name or len(name) > NAME_CHARS:
        raise Refused(f"A user name has 1 to {NAME_CHARS} characters.")


def _require_another(user: User) -> None:
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if not others.exists():
        raise Refused("This is the last superuser.")
