"""Hardened Daphne: limits and back-pressure."""
