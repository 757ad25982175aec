"""Spans of one project: their units, their lines in the journal, and what transcripts cover of them."""
