"""Masking of secrets before a line is written to the spool or sent, by the definite rules of the server."""
