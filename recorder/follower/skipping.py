"""Adds what ended, many lines in one transaction; a line that breaks it is skipped, and only that one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from django.db import transaction

from recorder.database.errors import STORE_ERRORS, Busy, StoreError, raise_as_store_error

log = logging.getLogger(__name__)


class Ended(Protocol):
    """A line that ends something."""

    @property
    def line(self) -> int: ...


E = TypeVar("E", bound=Ended)
R = TypeVar("R")


def add_each(
    name: str, ends: Sequence[E], add: Callable[[Sequence[E]], R], skip: Callable[[E, Exception], None]
) -> list[R]:
    """Add ends in order, all at once or else in halves; return what `add` returned for each part.

    One that cannot be added by itself is logged, with the name of the tables, and given to `skip` outside of
    the failed transaction. Raises Busy and StoreError if the store is at fault.
    """
    try:
        with transaction.atomic():
            return [add(ends)]
    except Exception as error:
        raise_if_of_store(error)
        if len(ends) <= 1:
            for end in ends:
                log.exception("line %d breaks the %s and is skipped", end.line, name)
                skip(end, error)
            return []
    half = len(ends) // 2
    return [*add_each(name, ends[:half], add, skip), *add_each(name, ends[half:], add, skip)]


def raise_if_of_store(error: Exception) -> None:
    """Raise Busy or StoreError if the store is at fault; return if what was recorded is."""
    if isinstance(error, Busy | StoreError):
        raise error
    if isinstance(error, STORE_ERRORS):
        raise_as_store_error(error)
