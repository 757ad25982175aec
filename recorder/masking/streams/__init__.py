"""Masks secrets that come in several deltas: what may be the start of one waits for the next delta."""
