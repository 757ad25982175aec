"""The host-wide channel of what starts, ends and waits, in the words of Grida's contract. Live only."""
