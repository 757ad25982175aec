"""The page What if: recorded calls at other prices and with other policies."""
