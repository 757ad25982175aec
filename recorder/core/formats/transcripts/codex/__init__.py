"""Codex's rollouts: `sessions/Y/M/D/rollout-<time>-<thread>.jsonl`."""

from recorder.core.formats.transcripts.codex.heads import AGENT
from recorder.core.formats.transcripts.codex.reader import CodexReader
from recorder.core.formats.transcripts.codex.record_types import detects

__all__ = ("AGENT", "CodexReader", "detects")
