"""Publish/subscribe of what commits changed."""
