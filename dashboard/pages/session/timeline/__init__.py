"""The Timeline tab."""
