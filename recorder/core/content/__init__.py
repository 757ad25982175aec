"""Text, messages and equality keys of recorded content."""
