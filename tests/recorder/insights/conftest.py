"""Fixtures of the consolidation tests: new projects, and a model server."""

import pytest

from tests.recorder.insights.llm_server import speaker
from tests.recorder.projection.test_store import Projects

__all__ = ("speaker",)  # a fixture


@pytest.fixture
def fresh(db, monkeypatch):
    monkeypatch.setattr("recorder.insights.consolidate.PAUSE_S", 0)
    return Projects()
