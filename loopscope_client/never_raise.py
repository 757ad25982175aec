"""What every call of an agent keeps: it never raises, and there is nothing to wait for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

log = logging.getLogger(__name__)
P = ParamSpec("P")
S = TypeVar("S")


class Done:
    """The answer of a call; an asyncio program may await it."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield

    def __repr__(self) -> str:
        return "Done"


DONE = Done()


def quiet(call: Callable[Concatenate[S, P], object]) -> Callable[Concatenate[S, P], Done]:
    """Make a method that records: whatever goes wrong in it is logged, the agent goes on."""

    @wraps(call)
    def recorded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Done:
        try:
            call(self, *args, **kwargs)
        except Exception:
            log.exception("an event was not recorded")
        return DONE

    return recorded
