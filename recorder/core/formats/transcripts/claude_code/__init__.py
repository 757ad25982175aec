"""Claude Code's transcripts: `projects/<folder>/<session>.jsonl` and its sub-agents' files."""

from recorder.core.formats.transcripts.claude_code.reader import AGENT, ClaudeCodeReader
from recorder.core.formats.transcripts.claude_code.record_types import detects

__all__ = ("AGENT", "ClaudeCodeReader", "detects")
