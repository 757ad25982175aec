"""Reads of what if."""
