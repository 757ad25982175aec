"""Loops and sessions as JSON documents: the same for the read API and for pages."""
