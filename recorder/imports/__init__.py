"""Imports of recorded runs from files, through the ingest pipeline."""
