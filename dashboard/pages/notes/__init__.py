"""Pages that write notes, scores and bookmarks, and the page of one note."""
