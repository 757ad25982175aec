"""Turns side by side, for the branches of an evaluation and for sessions: aligned, with their differences."""
