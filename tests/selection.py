"""Which tests use the database, and how many examples property tests try on another one than SQLite."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import settings

DATABASE = {"db", "transactional_db"}
SHARE = 3  # one example in so many is tried there


def uses_database(item: pytest.Item) -> bool:
    """Whether a test works on the database of its process: by a fixture or by pytest-django's marker."""
    names = set(getattr(item, "fixturenames", ()))
    return bool(DATABASE & names) or item.get_closest_marker("django_db") is not None


def mark_database(items: list[pytest.Item]) -> None:
    """Mark the tests that the phase on PostgreSQL runs."""
    for item in items:
        if uses_database(item):
            item.add_marker("database")


def try_fewer_examples(items: list[pytest.Item]) -> None:
    """Give property tests a third of their examples."""
    done = set()
    for item in items:
        test = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
        if not getattr(test, "is_hypothesis_test", False) or test in done:
            continue
        done.add(test)
        own = getattr(test, "_hypothesis_internal_use_settings", None) or settings.default
        test._hypothesis_internal_use_settings = settings(own, max_examples=ceil(own.max_examples / SHARE))
