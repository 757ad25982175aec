"""Encoding, spooling and sending of lines."""
