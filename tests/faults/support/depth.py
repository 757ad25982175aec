"""How often a test repeats its fault: a few times in each run of the tests, often with `make test-deep`."""

from __future__ import annotations

import os

IS_DEEP = os.environ.get("FAULTS") == "long"


def repeat(short: int, *, deep: int) -> int:
    """Return the number of repetitions."""
    return deep if IS_DEEP else short
