"""One span or log record: its attributes, kind, usage and messages."""
