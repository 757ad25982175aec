"""Database queries of the Timeline tab."""
