"""Authentication and request parameters of both ingest endpoints: token, format, producer name."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qs

from django.db import connection

from recorder.access import tokens
from recorder.access.refusals import RefusedRequest, refusals
from recorder.access.rights import Right, token_has
from recorder.asgi.scope import Headers, Scope, header
from recorder.core.events.fields import is_id
from recorder.core.formats.registry import SENT
from recorder.database.errors import STORE_ERRORS, Busy, raise_as_store_error

T = TypeVar("T")

NUMBER_MAX = 2**53 - 1
NUMBER = re.compile(r"[0-9]{1,16}")
PRODUCER_CHARS = 200
MACHINE_CHARS = 100

# Threads of their own: the shared one of Django and Channels is blocked by one slow page.
_EXECUTOR = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ingest")
# Refusals are written, so they wait for the writer; no check of a token may wait behind them.
_REFUSALS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="refusals")


class NoToken(Exception):
    """No token, or one that is unknown, expired or revoked."""


class WrongScope(Exception):
    """A valid token without the required scope."""


class Archived(Exception):
    """A valid token of a project that is archived."""

    def __init__(self) -> None:
        super().__init__("the project is archived: it records nothing until it is restored")


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to record into a project."""

    project: int
    token: int
    is_demo: bool = False


async def authenticate(headers: Headers) -> Grant:
    """Return the grant of the bearer token. Raises NoToken, WrongScope, Archived or Busy."""
    authorization = header(headers, b"authorization")
    bearer = tokens.bearer(authorization) if authorization is not None else None
    if bearer is None:
        raise NoToken
    return await in_thread(lambda: _grant(bearer))


async def in_thread(run: Callable[[], T], executor: ThreadPoolExecutor = _EXECUTOR) -> T:
    """Run a query off the event loop. Raises Busy if the database is unavailable."""
    return await asyncio.get_running_loop().run_in_executor(executor, _run_query, run)


async def note_refusal(scope: Scope, status: int, code: str, message: str) -> None:
    """Store why a request is refused, for the page Connect an agent; not while the store is busy."""
    bearer = tokens.bearer(header(scope["headers"], b"authorization") or "") or ""
    refused = RefusedRequest(bearer, scope["path"], status, code, message)
    with suppress(Busy):
        await in_thread(lambda: refusals.add(refused), _REFUSALS)


def format_of(query: bytes) -> str:
    """Return the format that the query names. Raises ValueError for an unknown one."""
    named = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("format", ["native"])[-1]
    if named not in SENT:
        raise ValueError(f"unknown format; valid formats: {', '.join(SENT)}")
    return named


def is_machine(name: object) -> bool:
    return isinstance(name, str) and len(name) <= MACHINE_CHARS and is_id(name)


def is_producer(name: object) -> bool:
    return isinstance(name, str) and len(name) <= PRODUCER_CHARS and is_id(name)


def _grant(bearer: str) -> Grant:
    token = tokens.look_up(bearer)
    if token is None:
        raise NoToken
    if not token_has(token.scopes, Right.INGEST):
        raise WrongScope
    if token.is_archived:
        raise Archived
    return Grant(token.project, token.pk, tokens.is_for_demo(token))


def _run_query(run: Callable[[], T]) -> T:
    try:
        return run()
    except STORE_ERRORS as error:
        connection.close()
        raise_as_store_error(error)
        raise
    finally:
        if connection.vendor != "sqlite":
            connection.close()  # back to the pool; opening SQLite's again would cost more than the query
