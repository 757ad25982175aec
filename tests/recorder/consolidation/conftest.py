"""What tests of consolidation share: a model to ask."""

from tests.recorder.consolidation.speaker import speaker

__all__ = ("speaker",)  # a fixture
