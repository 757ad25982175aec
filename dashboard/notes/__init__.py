"""Notes, scores and bookmarks on pages: what the session page, evaluations and their own pages share."""
