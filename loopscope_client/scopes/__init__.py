"""The blocks of an agent: loops, turns, tools, compactions and parallel groups."""
