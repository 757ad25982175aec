"""What recorded calls would have cost otherwise, for the page and the API."""
