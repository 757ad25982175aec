"""Signing in and out, and how the pages look to one reader."""
