"""Access of open connections, checked again while they are open.

A page socket, a stream or a download is authorised when it opens and may stay open for days. Each asks again
every `RECHECK_S` seconds, in a thread of this module, by one query of the database: that holds on several
nodes, whatever took the access away. While the database is unavailable a connection keeps the access of the
last check; nothing can be read for it then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from recorder.access import tokens
from recorder.access.rights import Right, is_usable, role_has
from recorder.database.errors import Busy
from recorder.ingest.auth import T, in_thread
from recorder.models import Membership, Project

log = logging.getLogger(__name__)

RECHECK_S = 2.0  # access that was taken away ends within 5 s: this, the query, and the close
_EXECUTOR = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recheck")


@dataclass(frozen=True, slots=True)
class SignIn:
    """A sign-in as it was when a connection opened; a change of `password`, the hash, ends it."""

    session_key: str
    user: int
    password: str

    @classmethod
    def of(cls, user: AbstractBaseUser, session_key: str | None) -> SignIn:
        """Return the sign-in of a user by a session."""
        return cls(session_key or "", user.pk, user.password)

    def projects(self, right: Right) -> Mapping[str, int]:
        """Return the projects in which the person has a right, by slug; none after the sign-in has ended."""
        return dict(self._projects(right).values_list("slug", "pk"))

    def has(self, slug: str, right: Right) -> bool:
        """Whether the sign-in has not ended and the person has a right in a project. One query."""
        return self._projects(right).filter(slug=slug).exists()

    def is_valid(self) -> bool:
        """Whether the sign-in has not ended. One query."""
        return self._user().filter(Exists(self._session())).exists()

    def _projects(self, right: Right) -> QuerySet[Project]:
        roles = [role for role in Membership.Role if role_has(role, right)]
        member = Membership.objects.filter(project=OuterRef("pk"), user=self.user, role__in=roles)
        may = Q(Exists(self._user().filter(is_superuser=True))) | Q(Exists(member))
        found = Project.objects.filter(may, Exists(self._session()), Exists(self._user()))
        return found if is_usable(right, is_archived=True) else found.filter(archived_at=None)

    def _user(self) -> QuerySet[User]:
        return User.objects.filter(pk=self.user, is_active=True, password=self.password)

    def _session(self) -> QuerySet[AbstractBaseSession]:
        sessions: QuerySet[AbstractBaseSession] = QuerySet(_session_model())
        return sessions.filter(session_key=self.session_key, expire_date__gt=timezone.now())


def _session_model() -> type[AbstractBaseSession]:
    model: type[AbstractBaseSession] = import_module(settings.SESSION_ENGINE).SessionStore.get_model_class()
    return model


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token as it was sent when a connection opened."""

    token: str

    def has(self, project: int, right: Right) -> bool:
        """Whether the token is valid and has a right in a project. One query."""
        found = tokens.look_up(self.token)
        return found is not None and found.project == project and tokens.has_right(found, right)


async def still(check: Callable[[], T]) -> T:
    """Return the result of a check, which runs in a thread. Raises Busy if the database is unavailable."""
    return await in_thread(check, _EXECUTOR)


async def until_lost(
    check: Callable[[], bool], sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Return as soon as `check` says that access was lost; it runs every `RECHECK_S` seconds."""
    while True:
        await sleep(RECHECK_S)
        try:
            if not await still(check):
                return
        except Busy:
            log.warning("the access of an open connection cannot be checked now")
