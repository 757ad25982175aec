"""Database queries of the Events tab, of one event and of a loop's JSON."""
