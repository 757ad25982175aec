"""The append-only log of recorded lines: `append.py` writes, `read.py` reads."""
