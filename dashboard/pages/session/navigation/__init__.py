"""Search and jumps within a session."""
