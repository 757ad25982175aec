"""The way of a request to its transaction; `commit/pipeline.py` is the front page."""
