"""The flame graph of a session: what its loops, sub-agents, turns and blocks cost, or how long they took."""
