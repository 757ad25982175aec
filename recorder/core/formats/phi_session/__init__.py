"""Reader of phi-core session files."""
