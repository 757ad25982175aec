"""Endpoints, writer queue and the transaction; `pipeline.py` is the front page."""
