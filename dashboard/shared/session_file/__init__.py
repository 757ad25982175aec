"""A session as one HTML file that opens without a server."""
