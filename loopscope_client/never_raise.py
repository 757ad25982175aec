"""The rule of recording calls: they log their errors, never raise, and their result can be awaited."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

log = logging.getLogger(__name__)
P = ParamSpec("P")
S = TypeVar("S")


class Done:
    """Result of a recording call; awaiting it returns at once, so asyncio programs may."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield

    def __repr__(self) -> str:
        return "Done"


DONE = Done()


def quiet(call: Callable[Concatenate[S, P], object]) -> Callable[Concatenate[S, P], Done]:
    """Return a method that logs every exception instead of raising it, so that the agent continues."""

    @wraps(call)
    def recorded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Done:
        try:
            call(self, *args, **kwargs)
        except Exception:
            log.exception("an event was not recorded")
        return DONE

    return recorded
