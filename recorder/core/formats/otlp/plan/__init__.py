"""Loops, turns and tool calls from the spans of a unit."""
