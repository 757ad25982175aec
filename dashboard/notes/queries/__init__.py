"""Database queries of notes, scores and bookmarks."""
