"""Functions that the HTTP endpoints share: reading a request, writing a response."""
