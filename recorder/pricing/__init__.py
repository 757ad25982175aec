"""Price book, rollups and re-pricing."""
