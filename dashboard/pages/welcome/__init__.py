"""The welcome page: instructions for sending the first event."""
