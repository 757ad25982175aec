"""Text to safe HTML and to formatted figures; pure."""
