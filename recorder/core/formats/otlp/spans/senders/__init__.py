"""Spans of senders with conventions of their own, in the names of the GenAI conventions."""
