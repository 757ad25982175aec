"""Consolidation: extracts insights from ended loops and marks their journal lines as consolidated.

A loop is consolidated once, after it has ended. Its insights and the fact that it was consolidated are
written in one transaction, so a run may be killed at any time and two may run at once. A line is marked only
after its loop was consolidated.
"""
