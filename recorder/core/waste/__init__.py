"""Rules that find wasted calls in the ended calls of a loop, in order, with bounded state."""
