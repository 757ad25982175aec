"""Every test begins with no attempts to sign in counted."""

import pytest

from dashboard.pages.account.throttle import attempts


@pytest.fixture(autouse=True)
def no_attempts():
    attempts.clear()
