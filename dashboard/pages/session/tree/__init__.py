"""The tree of loops."""
