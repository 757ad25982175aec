"""Transcripts of coding agents on this computer: where they are, and how their producers are named."""
