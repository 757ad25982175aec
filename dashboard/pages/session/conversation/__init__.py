"""The conversation of a loop, turn by turn."""
