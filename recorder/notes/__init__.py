"""Notes, scores and bookmarks: the rules by which people, programs and judges write them."""
