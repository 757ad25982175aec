"""Gemini CLI's chats: `tmp/<project>/chats/session-<time>-<id>.jsonl`."""

from recorder.core.formats.transcripts.gemini_cli.reader import GeminiCliReader, detects

__all__ = ("GeminiCliReader", "detects")
