"""phi-core's session JSON."""
