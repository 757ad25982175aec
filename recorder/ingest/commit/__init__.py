"""The queue of batches and the transaction that stores them; `pipeline.py` is the front page."""
