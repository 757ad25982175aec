"""Masking rules of one project: switches, own patterns, a test box and dry runs."""
