"""Writer of phi-core's Session JSON."""
