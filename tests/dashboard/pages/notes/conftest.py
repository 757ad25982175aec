"""The fixtures of session pages: notes are shown on them."""

from tests.dashboard.pages.session.conftest import (  # noqa: F401  fixtures
    feed,
    loop,
    project,
    reader,
    see,
    session,
)
