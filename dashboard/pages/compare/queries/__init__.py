"""Database queries of the comparisons: what is shown of each session or loop."""
