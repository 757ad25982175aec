"""Errors of a query, with their position."""

from __future__ import annotations


class QueryError(ValueError):
    """A query that cannot be read.

    `at` counts characters from 0; `length` is that of the text in error, 0 at the end of the query. `fix`
    replaces that text; it is None unless there is exactly one.
    """

    def __init__(self, at: int, length: int, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.at, self.length, self.message, self.fix = at, length, message, fix

    def fixed(self, text: str) -> str | None:
        """Return the whole query with the fix applied; None without a fix."""
        if self.fix is None:
            return None
        return text[: self.at] + self.fix + text[self.at + self.length :]
