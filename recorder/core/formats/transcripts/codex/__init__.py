"""Codex's rollouts: `sessions/Y/M/D/rollout-<time>-<thread>.jsonl`."""

from recorder.core.formats.transcripts.codex.reader import AGENT, CodexReader
from recorder.core.formats.transcripts.codex.record_types import detects

__all__ = ("AGENT", "CodexReader", "detects")
