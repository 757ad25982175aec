"""The first run: how to send the first event, and what happens when it comes."""
