"""Plays the demo's schedule into a running server, through the ingest endpoint that agents use."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from threading import Event as Flag
from threading import Thread

from django.db import connection, transaction
from django.utils import timezone

from recorder.access import tokens
from recorder.demo.http_client import HttpClient, HttpClientError
from recorder.demo.schedule import SECONDS, Moment, moments
from recorder.demo.scripted_facts import scripted_answer
from recorder.demo.tape import line
from recorder.insights.consolidate import consolidate_demo
from recorder.models import AccessToken, Project

log = logging.getLogger(__name__)

TOKEN_NAME = "demo"  # noqa: S105  a name, no secret
TICK_S = 0.06  # events of this time go into one request
FAST_BATCH = 300
GRACE_S = 60  # a token's lifetime beyond the play: after a crash the next play waits at most this long


class AlreadyPlayingError(Exception):
    """A demo is being played into this project."""


@contextmanager
def stage(project: Project, speed: float | None = 1) -> Iterator[str]:
    """Yield a token for one play, and consolidate the demo afterwards.

    While the token is valid no other play can begin.

    Raises:
        AlreadyPlayingError: another play holds a valid token.
    """
    token = _issue_token(project, timedelta(seconds=SECONDS / (speed or 1) + GRACE_S))
    try:
        yield token
        consolidate_demo(project, scripted_answer)
    finally:
        AccessToken.objects.filter(project=project, key=token.split("_")[1]).delete()


def play(url: str, token: str, *, speed: float | None, on_progress: Callable[[float, float], None]) -> int:
    """Play the whole schedule; return the number of events sent.

    `speed` 2 is twice as fast; None sends all at once, with times as if the play had just ended.
    `on_progress` is called with the seconds played and the seconds in all.

    Raises:
        HttpClientError: the server cannot be reached or refuses.
    """
    schedule = list(moments())
    length = schedule[-1].at
    client = HttpClient(url, token, f"demo-{uuid.uuid4()}")
    try:
        batches = _batches(schedule, FAST_BATCH) if speed is None else _in_time(schedule, speed)
        starts_at = datetime.now(UTC) - timedelta(seconds=length if speed is None else 0)
        for batch in batches:
            client.send([_line(moment, starts_at, speed or 1) for moment in batch])
            on_progress(batch[-1].at, length)
    finally:
        client.finish()
        client.close()
    return len(schedule)


def play_in_background(project: Project, url: str) -> None:
    """Start a play on a thread of this process. Raises AlreadyPlayingError."""
    begun = Flag()
    refused: list[AlreadyPlayingError] = []

    def run() -> None:
        try:
            with stage(project) as token:
                begun.set()
                play(url, token, speed=1, on_progress=lambda *_: None)
        except AlreadyPlayingError as error:
            refused.append(error)
        except HttpClientError as error:
            log.warning("the demo stopped: %s", error)
        finally:
            begun.set()
            connection.close()

    Thread(target=run, name="demo", daemon=True).start()
    begun.wait()
    if refused:
        raise refused[0]


def _issue_token(project: Project, lifetime: timedelta) -> str:
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        now = timezone.now()
        ours = AccessToken.objects.filter(project=project, scopes__endswith=tokens.DEMO)
        if ours.filter(expires_at__gt=now).exists():
            raise AlreadyPlayingError("a demo is playing already; wait until it ends, or remove it")
        ours.delete()
        return tokens.issue(project, TOKEN_NAME, ["ingest"], expires=now + lifetime, is_demo=True)


def _in_time(schedule: list[Moment], speed: float) -> Iterator[list[Moment]]:
    """Yield the events that are due, in batches of TICK_S, waiting for each batch."""
    wait = Flag().wait
    begun = time.monotonic()
    start = 0
    while start < len(schedule):
        wait(max(0.0, schedule[start].at / speed - (time.monotonic() - begun)) + TICK_S)
        due = (time.monotonic() - begun) * speed
        end = start
        while end < len(schedule) and schedule[end].at <= due:
            end += 1
        if end > start:
            yield schedule[start:end]
        start = end


def _batches(schedule: list[Moment], size: int) -> Iterator[list[Moment]]:
    rest = iter(schedule)
    while batch := list(islice(rest, size)):
        yield batch


def _line(moment: Moment, starts_at: datetime, speed: float) -> bytes:
    return line(moment.tape, moment.cue, starts_at, lambda place: (moment.starts_at + place) / speed)
