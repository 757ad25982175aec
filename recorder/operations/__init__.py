"""Scheduler, retention, integrity and startup checks."""
