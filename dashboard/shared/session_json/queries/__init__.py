"""Loops and sessions read from records, as JSON documents."""
