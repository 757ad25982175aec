"""Plays the programme into a running server, through the same door as every agent."""

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
from recorder.demo.tape import line
from recorder.insights.consolidate import consolidate_demo
from recorder.models import AccessToken, Project

log = logging.getLogger(__name__)

NAME = "demo"  # of its token
TICK = 0.06  # seconds of events that go in one request
FAST_BATCH = 300
SPARE = 60  # seconds that a token outlives its play; after a crash nobody has to wait longer


class AlreadyPlayingError(Exception):
    """A demo is being played into this project."""


@contextmanager
def stage(project: Project, speed: float | None = 1) -> Iterator[str]:
    """Give a token for one play; while it lives nobody else can begin one. What was played whole is read.

    Raises AlreadyPlayingError.
    """
    token = _take(project, timedelta(seconds=SECONDS / (speed or 1) + SPARE))
    try:
        yield token
        consolidate_demo(project)
    finally:
        AccessToken.objects.filter(project=project, key=token.split("_")[1]).delete()


def play(url: str, token: str, *, speed: float | None, tell: Callable[[float, float], None]) -> int:
    """Play everything; return how many events were sent. Speed None is all at once, as if it had just ended.

    Raises DoorError when the server cannot be reached or refuses.
    """
    score = list(moments())
    length = score[-1].at
    door = HttpClient(url, token, f"demo-{uuid.uuid4()}")
    try:
        batches = _batches(score, FAST_BATCH) if speed is None else _in_time(score, speed)
        starts_at = datetime.now(UTC) - timedelta(seconds=length if speed is None else 0)
        for batch in batches:
            door.send([_line(moment, starts_at, speed or 1) for moment in batch])
            tell(batch[-1].at, length)
    finally:
        door.finish()
        door.close()
    return len(score)


def play_in_background(project: Project, url: str) -> None:
    """Begin a play on a thread of this process. Raises AlreadyPlayingError."""
    begun = Flag()
    refused: list[AlreadyPlayingError] = []

    def run() -> None:
        try:
            with stage(project) as token:
                begun.set()
                play(url, token, speed=1, tell=lambda *_: None)
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


def _take(project: Project, lifetime: timedelta) -> str:
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        now = timezone.now()
        ours = AccessToken.objects.filter(project=project, scopes__endswith=tokens.DEMO)
        if ours.filter(expires_at__gt=now).exists():
            raise AlreadyPlayingError("a demo is playing already; wait until it ends, or remove it")
        ours.delete()
        return tokens.issue(project, NAME, ["ingest"], expires=now + lifetime, is_demo=True)


def _in_time(score: list[Moment], speed: float) -> Iterator[list[Moment]]:
    """Yield what is due, a tick's worth at a time, waiting for each."""
    wait = Flag().wait
    begun = time.monotonic()
    place = 0
    while place < len(score):
        wait(max(0.0, score[place].at / speed - (time.monotonic() - begun)) + TICK)
        due = (time.monotonic() - begun) * speed
        end = place
        while end < len(score) and score[end].at <= due:
            end += 1
        if end > place:
            yield score[place:end]
        place = end


def _batches(score: list[Moment], size: int) -> Iterator[list[Moment]]:
    rest = iter(score)
    while batch := list(islice(rest, size)):
        yield batch


def _line(moment: Moment, starts_at: datetime, speed: float) -> bytes:
    return line(moment.tape, moment.cue, starts_at, lambda place: (moment.starts_at + place) / speed)
