"""URLs, query strings, error pages, CSV responses, static files and keyset cursors."""
