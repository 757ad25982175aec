"""Ends database work at a chosen statement, as a kill of the process would."""

from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """As a kill: code under test that catches Exception does not catch it."""


class Kill:
    """A wrapper for `connection.execute_wrapper` that raises Killed at the n-th statement, counted from 1."""

    def __init__(self, statements: int) -> None:
        self._left = statements

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            raise Killed
        return execute(sql, *rest)
