"""Waste as pages and the API show it: what each rule found, with tokens and dollars computed when read."""
