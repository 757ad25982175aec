"""The course of a session on one line: what the scrubber draws and where its steps lead."""
