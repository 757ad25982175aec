"""Reads phi-core's session JSON."""
