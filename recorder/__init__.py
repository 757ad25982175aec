"""What happened: lines in, records out; no HTML."""
