"""A secret of which no part may be stored."""

from uuid import uuid4

import pytest


@pytest.fixture
def secret():
    return f"AKIA{uuid4().hex[:16].upper()}"
