"""Consolidation: reads what has ended, keeps what it teaches, and marks the lines that were read.

A loop is read once, when it has ended: what it adds and that it was read go into one transaction, so that a
consolidation may be killed anywhere, and two may run at once. A line is marked after its loop was read.
"""
