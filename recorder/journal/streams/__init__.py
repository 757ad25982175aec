"""The streams of deltas that are open: what of their text waits for the next delta."""
