"""Insights from recorded loops: repeated procedures, solutions of errors, and facts."""
