"""Evaluations: branches that ran the same task, which of them won, and where they went different ways."""
