"""Records derived from the journal: load, save, rebuild, as of."""
