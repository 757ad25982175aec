"""The demo: recorded runs, sent through the ingest endpoint as if agents were running now."""
