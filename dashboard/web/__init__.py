"""Addresses, errors, CSV responses, static files and keyset cursors."""
