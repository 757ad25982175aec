"""Costs that recorded calls would have had otherwise, by API."""
