"""What tests of consolidation share: a model to ask."""

from tests.recorder.insights.llm_server import speaker

__all__ = ("speaker",)  # a fixture
