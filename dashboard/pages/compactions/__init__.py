"""Compactions: the list of them, and each before and after."""
