"""Costs that recorded calls would have had otherwise, for the page and the API."""
