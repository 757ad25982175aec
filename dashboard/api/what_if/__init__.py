"""What recorded calls would have cost otherwise, by API."""
